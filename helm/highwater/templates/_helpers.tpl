{{/* The stem of every name: the release's, with the chart's unless it is in there. */}}
{{- define "highwater.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select: (list $ "operator"). */}}
{{- define "highwater.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* All labels: (list $ "operator"), (list $ "") for what is of no component. */}}
{{- define "highwater.labels" -}}
{{ include "highwater.selector" . }}
app.kubernetes.io/part-of: highwater
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end -}}

{{/* An image of ours: (list $ "node"). */}}
{{- define "highwater.image" -}}
{{- $image := (index . 0).Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
highwater/{{ index . 1 }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}
{{- end -}}

{{- define "highwater.tokenSecret" -}}
{{- .Values.agent.token.existingSecret | default (printf "%s-agent-token" (include "highwater.name" .)) -}}
{{- end -}}

{{- define "highwater.tlsSecret" -}}
{{- .Values.agent.tls.existingSecret | default (printf "%s-agent-tls" (include "highwater.name" .)) -}}
{{- end -}}

{{/* Of the roles that the operator binds the Jobs of an experiment to. */}}
{{- define "highwater.roleKind" -}}
{{- if .Values.operator.watchNamespaces }}Role{{ else }}ClusterRole{{ end -}}
{{- end -}}

{{/* What the operator may do in each namespace that it serves; docs/kubernetes-reference.md says why. */}}
{{- define "highwater.operatorRules" -}}
{{ .Files.Get "files/operator-rules.yaml" | trim }}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [{{ include "highwater.roleKind" . | lower }}s]
  resourceNames: [{{ include "highwater.name" . }}-runner, {{ include "highwater.name" . }}-judge]
  verbs: [bind]
{{- end -}}

{{/* The same of judging Jobs. */}}
{{- define "highwater.judgeRules" -}}
{{ .Files.Get "files/judge-rules.yaml" | trim }}
{{- end -}}
{{/* The same of experiments' runners. */}}
{{- define "highwater.runnerRules" -}}
{{ .Files.Get "files/runner-rules.yaml" | trim }}
{{- end -}}
