package workload

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var podContainers = []string{"app", "proxy"}

var podConditions = []corev1.PodConditionType{
	corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
}

// pod is a pod of a deployment: two entries of managedFields, two containers,
// four conditions, about 6 KB of JSON.
func pod(variant int) rendered {
	app := fmt.Sprintf("checkout-%d", variant)
	set := fmt.Sprintf("%s-7d9c6f5b8%d", app, variant)
	o := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: meta(set, variant)}
	o.GenerateName = set + "-"
	o.Labels["pod-template-hash"] = fmt.Sprintf("7d9c6f5b8%d", variant)
	o.Annotations = map[string]string{
		"kubectl.kubernetes.io/restartedAt": "2026-03-01T09:59:58Z",
		"prometheus.io/path":                "/metrics",
		"prometheus.io/scrape":              "true",
	}
	yes := true
	o.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: types.UID(fmt.Sprintf("5d7dbd2e-58a8-4d4b-8d53-6a9b4d0a1c7%d", variant)),
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	o.ManagedFields = []metav1.ManagedFieldsEntry{
		managed("kube-controller-manager", "", controllerFields()),
		managed("kubelet", "status", kubeletFields()),
	}
	o.Spec = podSpec(variant)
	o.Status = podStatus(variant)
	return rendered{&o.ObjectMeta, o.TypeMeta, o}
}

func podSpec(variant int) corev1.PodSpec {
	grace, priority, mode, expiry, tolerate := int64(30), int32(0), int32(420), int64(3607), int64(300)
	links, preempt := true, corev1.PreemptLowerPriority
	s := corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: &mode,
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expiry, Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
				}}},
			},
		}}}},
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: "default", DeprecatedServiceAccount: "default", NodeName: fmt.Sprintf("worker-%d", variant),
		SecurityContext: &corev1.PodSecurityContext{}, SchedulerName: "default-scheduler",
		Priority: &priority, EnableServiceLinks: &links, PreemptionPolicy: &preempt,
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &tolerate},
			{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &tolerate},
		},
	}
	for _, c := range podContainers {
		s.Containers = append(s.Containers, corev1.Container{
			Name: c, Image: fmt.Sprintf("registry.example.com/checkout/%s:v1.42.%d", c, variant),
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Env: []corev1.EnvVar{
				{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
				{Name: "LOG_LEVEL", Value: "info"},
			},
			Resources: corev1.ResourceRequirements{Limits: quantities("500m", "512Mi"), Requests: quantities("100m", "128Mi")},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "kube-api-access-x7k2p", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
			},
			LivenessProbe: &corev1.Probe{
				ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP}},
				TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
			},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
		})
	}
	return s
}

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func podStatus(variant int) corev1.PodStatus {
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: fmt.Sprintf("192.168.1.2%d", variant), PodIP: hole('`'), PodIPs: []corev1.PodIP{{IP: hole('`')}},
		StartTime: &born, QOSClass: corev1.PodQOSBurstable,
	}
	for _, c := range podConditions {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: born, ObservedGeneration: 1})
	}
	started := true
	for i, c := range podContainers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: born}}, Ready: true,
			Image:       fmt.Sprintf("registry.example.com/checkout/%s:v1.42.%d", c, variant),
			ImageID:     fmt.Sprintf("registry.example.com/checkout/%s@sha256:%s", c, strings.Repeat(fmt.Sprintf("4f3c1e0a9b7d5c%d%d", i, variant), 4)),
			ContainerID: "containerd://" + hole("|!"[i]), Started: &started,
		})
	}
	return s
}

func controllerFields() string {
	var b strings.Builder
	b.WriteString(`{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{},"f:prometheus.io/path":{},"f:prometheus.io/scrape":{}},"f:generateName":{},` +
		`"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{},"f:team":{},"f:version":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5d7dbd2e-58a8-4d4b-8d53-6a9b4d0a1c77\"}":{}}},"f:spec":{"f:containers":{`)
	for i, c := range podContainers {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k:{\"name\":\"%s\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},`+
			`"f:livenessProbe":{".":{},"f:httpGet":{".":{},"f:path":{},"f:port":{}}},"f:name":{},`+
			`"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}},"f:requests":{".":{},"f:cpu":{}}}}`, c)
	}
	b.WriteString(`},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{}}}`)
	return b.String()
}

func kubeletFields() string {
	var b strings.Builder
	b.WriteString(`{"f:status":{"f:conditions":{`)
	for i, c := range podConditions[:3] {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k:{\"type\":\"%s\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}`, c)
	}
	b.WriteString(`},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}}`)
	return b.String()
}
