{{- define "distributor.strimzi" -}}
{{- if .Capabilities.APIVersions.Has "kafka.strimzi.io/v1" }}kafka.strimzi.io/v1{{ else }}kafka.strimzi.io/v1beta2{{ end }}
{{- end }}

{{- define "distributor.md" -}}{{ .Values.cluster.name }}-message-distributor-level-{{ .Values.distribution.level }}{{- end }}
{{- define "distributor.od" -}}{{ .Values.cluster.name }}-offset-distributor-level-{{ .Values.distribution.level }}{{- end }}
{{- define "distributor.oc" -}}{{ .Values.cluster.name }}-offset-committer{{- end }}

{{- define "distributor.labels" -}}
app.kubernetes.io/name: distributor
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Client settings of a connector for one of the two clusters; the files come from the volume of that name. */}}
{{- define "distributor.client" -}}
{{- $mount := printf "${env:LAB_MOUNT_%s_TLS}" (upper .side) -}}
{{ .side }}.bootstrap.servers: {{ .kafka.bootstrapServers | quote }}
{{ .side }}.security.protocol: SSL
{{ .side }}.ssl.truststore.type: PEM
{{ .side }}.ssl.truststore.location: {{ $mount }}/ca.crt
{{ .side }}.ssl.keystore.type: PEM
{{ .side }}.ssl.keystore.location: {{ $mount }}/user.pem
{{- end }}

{{- define "distributor.bytes" -}}
key.converter: org.apache.kafka.connect.converters.ByteArrayConverter
value.converter: org.apache.kafka.connect.converters.ByteArrayConverter
header.converter: org.apache.kafka.connect.converters.ByteArrayConverter
{{- end }}
