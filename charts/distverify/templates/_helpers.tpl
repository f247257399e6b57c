{{- define "distverify.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimAll "-" -}}
{{- end -}}

{{- /* Short enough for names with an ending of up to 13 characters. */ -}}
{{- define "distverify.fullname" -}}
{{- $name := include "distverify.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimAll "-." -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimAll "-." -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimAll "-." -}}
{{- end -}}
{{- end -}}

{{- /* Names of cluster-wide objects hold the namespace too: two releases may have the same name. */ -}}
{{- define "distverify.clusterName" -}}
{{- $fullname := include "distverify.fullname" . -}}
{{- printf "%s-%s-%s" .Release.Namespace $fullname (printf "%s/%s" .Release.Namespace .Release.Name | sha256sum | trunc 8) -}}
{{- end -}}

{{- /* The name of a Service begins with a letter and holds no dot, as a release's may. */ -}}
{{- define "distverify.service" -}}
{{- $fullname := include "distverify.fullname" . | replace "." "-" -}}
{{- printf "%s%s-metrics" (ternary "m-" "" (regexMatch "^[0-9]" $fullname)) $fullname -}}
{{- end -}}

{{- define "distverify.serviceAccount" -}}
{{- default (ternary (include "distverify.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "distverify.selector" -}}
app.kubernetes.io/name: {{ include "distverify.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "distverify.labels" -}}
{{ include "distverify.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- /* A map's YAML without what is null, which is how a value of another file is dropped; nothing when nothing is left. */ -}}
{{- define "distverify.present" -}}
{{- $out := dict -}}
{{- range $key, $value := . -}}
{{- if kindIs "map" $value -}}
{{- with include "distverify.present" $value -}}
{{- $_ := set $out $key (fromYaml .) -}}
{{- end -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- with $out -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{- /* A list of the top context and labels of the user's: these win over ours, apart from those by which pods are selected. */ -}}
{{- define "distverify.labelsWith" -}}
{{- $top := index . 0 -}}
{{- toYaml (merge (include "distverify.selector" $top | fromYaml) (include "distverify.present" (index . 1) | fromYaml) (include "distverify.labels" $top | fromYaml)) -}}
{{- end -}}

{{- define "distverify.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "distverify.subject" -}}
kind: ServiceAccount
name: {{ include "distverify.serviceAccount" . | quote }}
namespace: {{ .Release.Namespace | quote }}
{{- end -}}
