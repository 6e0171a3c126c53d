{{- define "tidegate.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidegate.account" -}}
{{- .Values.serviceAccount.name | default (include "tidegate.name" .) -}}
{{- end -}}

{{/* Whether the Spark server is a container of Dagster's pod. */}}
{{- define "tidegate.hasSparkBeside" -}}
{{- if not (or .Values.spark.separate .Values.spark.remote) -}}true{{- end -}}
{{- end -}}

{{/* The account of a role of `tidegate stack`: processes, dagster, spark or webhook. */}}
{{- define "tidegate.accountOf" -}}
{{- $name := include "tidegate.account" .root -}}
{{- if eq .role "processes" -}}{{ $name }}{{- else -}}{{ $name }}-{{ .role }}{{- end -}}
{{- end -}}

{{- define "tidegate.dagsterRole" -}}
{{- if include "tidegate.hasSparkBeside" . -}}processes{{- else -}}dagster{{- end -}}
{{- end -}}

{{- define "tidegate.selector" -}}
app.kubernetes.io/name: tidegate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "tidegate.labels" -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{- define "tidegate.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* What each pod has: no root, no token of the Kubernetes API. A pod may have a place of its own. */}}
{{- define "tidegate.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .nodeSelector | default .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations | default .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "tidegate.container" -}}
image: {{ include "tidegate.image" . }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Variables of every process of the lake. */}}
{{- define "tidegate.env" -}}
- name: AWS_REGION
  value: {{ .Values.region | quote }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- if .Values.spark.token.secret }}
- name: TIDEGATE_SPARK_TOKEN_FILE
  value: /run/secrets/tidegate/token
{{- end }}
{{- end -}}

{{/* Variables of Dagster's processes: where the Spark server and the storage are. */}}
{{- define "tidegate.dagsterEnv" -}}
{{ include "tidegate.env" . }}
{{- if .Values.spark.remote }}
- name: SPARK_REMOTE
  value: {{ .Values.spark.remote | quote }}
{{- else if .Values.spark.separate }}
- name: SPARK_REMOTE
  value: "sc://{{ include "tidegate.name" . }}-spark.{{ .Release.Namespace }}.svc:15443/;use_ssl=true"
{{- end }}
{{- if .Values.spark.tls.ca }}
- name: GRPC_DEFAULT_SSL_ROOTS_FILE_PATH
  value: /run/secrets/tidegate-ca/ca.crt
{{- end }}
{{- if and .Values.postgres.host (not .Values.dagster.shared) }}
- name: DAGSTER_PG_HOST
  value: {{ .Values.postgres.host | quote }}
- name: DAGSTER_PG_DB
  value: {{ .Values.postgres.database | quote }}
- name: DAGSTER_PG_USERNAME
  value: {{ .Values.postgres.username | quote }}
- name: DAGSTER_PG_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ .Values.postgres.password.secret }}, key: {{ .Values.postgres.password.key }}}
{{- end }}
{{- end -}}

{{- define "tidegate.mounts" -}}
- {name: config, mountPath: /etc/tidegate, readOnly: true}
- {name: secrets, mountPath: /run/tidegate}
{{- if .Values.spark.token.secret }}
- {name: token, mountPath: /run/secrets/tidegate, readOnly: true}
{{- end }}
{{- end -}}

{{- define "tidegate.volumes" -}}
- name: config
  configMap: {name: {{ include "tidegate.name" . }}}
- name: secrets
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: tmp
  emptyDir: {}
{{- if .Values.spark.token.secret }}
- name: token
  secret:
    secretName: {{ .Values.spark.token.secret }}
    defaultMode: 0440
    items: [{key: {{ .Values.spark.token.key }}, path: token}]
{{- end }}
{{- end -}}

{{/* The certificate that clients of the Spark pod trust, without its key. */}}
{{- define "tidegate.caMount" -}}
{{- if .Values.spark.tls.ca }}
- {name: ca, mountPath: /run/secrets/tidegate-ca, readOnly: true}
{{- end }}
{{- end -}}

{{- define "tidegate.caVolume" -}}
{{- if .Values.spark.tls.ca }}
- name: ca
  secret:
    secretName: {{ .Values.spark.tls.secret }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- end -}}

{{/* The Spark server, as a container of Dagster's pod or of its own. */}}
{{- define "tidegate.spark" -}}
name: spark
{{ include "tidegate.container" . }}
args:
  - spark
  - --health-host
  - 0.0.0.0
{{- range .Values.spark.options }}
  - {{ . | quote }}
{{- end }}
env: {{ include "tidegate.env" . | nindent 2 }}
ports:
  - {name: health, containerPort: 15003}
startupProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 2
  failureThreshold: 120
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 10
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  timeoutSeconds: 5
resources: {{ toYaml .Values.spark.resources | nindent 2 }}
volumeMounts: {{ include "tidegate.mounts" . | nindent 2 }}
  - {name: spark, mountPath: /var/lib/tidegate}
  - {name: spark-tmp, mountPath: /tmp}
{{- end -}}

{{- define "tidegate.sparkVolumes" -}}
- name: spark
  emptyDir: {}
- name: spark-tmp
  emptyDir: {}
{{- end -}}

{{- define "tidegate.checksum" -}}
checksum/config: {{ include (print .Template.BasePath "/configmap.yaml") . | sha256sum }}
{{- end -}}
