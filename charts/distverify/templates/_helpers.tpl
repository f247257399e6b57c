{{- define "distverify.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* Short enough for names with an ending of up to 13 characters. */ -}}
{{- define "distverify.fullname" -}}
{{- $name := include "distverify.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Names of cluster-wide objects hold the namespace too: two releases may have the same name. */ -}}
{{- define "distverify.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "distverify.fullname" .) -}}
{{- end -}}

{{- define "distverify.serviceAccount" -}}
{{- default (ternary (include "distverify.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "distverify.selector" -}}
app.kubernetes.io/name: {{ include "distverify.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "distverify.labels" -}}
{{ include "distverify.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
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
name: {{ include "distverify.serviceAccount" . }}
namespace: {{ .Release.Namespace }}
{{- end -}}
