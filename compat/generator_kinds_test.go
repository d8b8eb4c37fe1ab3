package compat_test

import (
	"fmt"
	"math/rand/v2"
)

// randomKind is a resource that random operations act on.
type randomKind struct {
	plural, group, apiVersion, kind string

	content  func(dice *rand.Rand) string // the members of a valid object besides its head
	patches  []string                     // merge patches, some of them wrong
	statuses []string                     // the same of its status; none = it has no such subresource
	scale    bool
	cluster  bool // it is in no namespace
	custom   bool
}

func (k randomKind) path() string {
	path := "/apis/" + k.apiVersion
	if k.group == "" {
		path = "/api/" + k.apiVersion
	}
	if k.cluster {
		return path + "/" + k.plural
	}
	return path + "/namespaces/random/" + k.plural
}

// fixed is the content of a kind whose objects are all alike.
func fixed(text string) func(*rand.Rand) string { return func(*rand.Rand) string { return text } }

// counted is content with numbers from 0 to 2 in it.
func counted(format string) func(*rand.Rand) string {
	return func(dice *rand.Rand) string { return fmt.Sprintf(format, dice.IntN(3)) }
}

// randomKinds are those of which an epoch plays a few.
var randomKinds = []randomKind{
	{plural: "configmaps", apiVersion: "v1", kind: "ConfigMap", content: counted(`,"data":{"a":"%d","b":"x"}`),
		patches: []string{`{"data":{"a":"9"}}`, `{"data":{"a":null}}`, `{"data":{"c":"1"}}`, `{"data":null}`, `{"data":{"a":9}}`, `{"data":"x"}`, `{"dota":{"a":"1"}}`, `{"binaryData":{"b":"AQI="}}`,
			`{"immutable":true}`, `{"data":{"a b":"x"}}`, `{"data":{}}`, `{"binaryData":{"z":"?"}}`, `{"immutable":null}`}},
	{plural: "secrets", apiVersion: "v1", kind: "Secret", content: counted(`,"type":"Opaque","stringData":{"a":"%d"}`),
		// One that is immutable has data: to one without, {} would be a change for kube-apiserver.
		patches: []string{`{"data":{"a":"AQI="}}`, `{"stringData":{"b":"x"}}`, `{"data":{"a":"!"}}`, `{"type":"other"}`, `{"data":null}`, `{"data":{"a":null}}`, `{"immutable":true,"data":{"z":"AQI="}}`}},
	{plural: "deployments", group: "apps", apiVersion: "apps/v1", kind: "Deployment", scale: true, content: deploymentContent,
		patches: []string{`{"spec":{"replicas":4}}`, `{"spec":{"replicas":-1}}`, `{"spec":{"replicas":"x"}}`, `{"spec":{"paused":true}}`,
			`{"spec":{"template":{"spec":{"containers":[` + container("side", 1) + `]}}}}`, `{"spec":{"selector":{"matchLabels":{"app":"y"}}}}`,
			`{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"delete"},` + container("new", 2) + `]}}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`, `{"spec":{"unknown":1}}`,
			`{"spec":{"replicas":null}}`, `{"spec":{"template":{"spec":{"restartPolicy":"Never"}}}}`, `{"spec":{"template":{"metadata":{"annotations":{"restart":"1"}}}}}`, `{"spec":{"template":null}}`, `{"spec":null}`},
		statuses: []string{`{"status":{"replicas":2}}`, `{"status":{"observedGeneration":3,"readyReplicas":1,"replicas":1}}`, `{"status":{"replicas":-1}}`, `{"status":{"conditions":[{"type":"Available","status":"True","reason":"R","message":"m","lastUpdateTime":"2020-01-01T00:00:00Z","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`}},
	{plural: "widgets", group: "compat.example.com", apiVersion: "compat.example.com/v1", kind: "Widget", scale: true, custom: true,
		content: func(dice *rand.Rand) string {
			return fmt.Sprintf(`,"spec":{"size":%d,"parts":[{"name":"p","weight":%d}]}`, dice.IntN(5), dice.IntN(3))
		},
		patches: []string{`{"spec":{"size":6}}`, `{"spec":{"size":null}}`, `{"spec":{"size":600}}`, `{"spec":{"size":"x"}}`, `{"spec":{"colour":"red"}}`, `{"spec":{"colour":"green"}}`,
			`{"spec":{"unknown":{"a":1}}}`, `{"spec":{"parts":[{"name":"q"},{"name":"q"}]}}`, `{"spec":{"parts":[{"weight":1}]}}`, `{"other":1}`, `{"spec":null}`, `{"spec":{"size":1.5}}`, `{"spec":{"parts":null}}`, `{"spec":{"parts":[]}}`, `{"status":{"size":1}}`},
		statuses: []string{`{"status":{"size":2}}`, `{"status":{"observedGeneration":3}}`, `{"status":{"size":"x"}}`, `{"status":{"unknown":1}}`, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`}},
	{plural: "pods", apiVersion: "v1", kind: "Pod", content: podContent,
		patches: []string{`{"spec":{"containers":[{"name":"main","image":"i:9"}]}}`, `{"spec":{"activeDeadlineSeconds":5}}`, `{"spec":{"nodeName":null}}`, `{"spec":{"activeDeadlineSeconds":-5}}`,
			`{"spec":{"tolerations":[{"key":"a","operator":"Exists"}]}}`, `{"spec":{"priority":null}}`, `{"spec":{"unknown":true}}`, `{"spec":{"containers":"x"}}`, `{"spec":{"containers":[{"name":"main","image":""}]}}`, `{"status":{"phase":"Running"}}`},
		statuses: []string{`{"status":{"phase":"Running","podIP":"192.0.2.7","podIPs":[{"ip":"192.0.2.7"}]}}`, `{"status":{"phase":"Succeeded"}}`, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, `{"status":{"qosClass":null}}`,
			`{"status":{"containerStatuses":[{"name":"main","image":"i:0","imageID":"x","ready":true,"restartCount":2,"state":{"running":{"startedAt":"2020-01-01T00:00:00Z"}}}]}}`, `{"status":{"message":"m","reason":"R"}}`}},
	{plural: "services", apiVersion: "v1", kind: "Service", content: serviceContent,
		patches: []string{`{"spec":{"ports":[{"port":81}]}}`, `{"spec":{"ports":null}}`, `{"spec":{"selector":{"app":"y"}}}`, `{"spec":{"clusterIP":"None"}}`, `{"spec":{"ports":[{"port":0}]}}`, `{"spec":{"ports":[{"port":80,"name":"p"},{"port":82}]}}`,
			`{"spec":{"sessionAffinity":"ClientIP"}}`, `{"spec":{"sessionAffinity":"Other"}}`, `{"spec":{"type":"Other"}}`, `{"spec":{"ports":[{"port":80,"targetPort":"Web"}]}}`, `{"spec":{"publishNotReadyAddresses":true}}`},
		statuses: []string{`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`, `{"status":{"conditions":[{"type":"T","status":"True","reason":"R","message":"","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`}},
	{plural: "leases", group: "coordination.k8s.io", apiVersion: "coordination.k8s.io/v1", kind: "Lease", content: counted(`,"spec":{"holderIdentity":"h%d","leaseDurationSeconds":15}`),
		patches: []string{`{"spec":{"holderIdentity":"me"}}`, `{"spec":{"holderIdentity":""}}`, `{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}`, `{"spec":{"leaseDurationSeconds":0}}`, `{"spec":{"leaseTransitions":-1}}`, `{"spec":{"leaseTransitions":3}}`,
			`{"spec":{"renewTime":"x"}}`, `{"spec":null}`, `{"spec":{"holderIdentity":null}}`, `{"spec":{"acquireTime":"2020-01-01T00:00:00Z"}}`}},
	{plural: "namespaces", apiVersion: "v1", kind: "Namespace", cluster: true, content: func(dice *rand.Rand) string {
		return [...]string{``, `,"spec":{}`, `,"spec":{"finalizers":["kubernetes"]}`}[dice.IntN(3)]
	},
		patches:  []string{`{"spec":{"finalizers":["compat.example.com/x"]}}`, `{"spec":null}`, `{"metadata":{"labels":{"kubernetes.io/metadata.name":"x"}}}`, `{"metadata":{"labels":{"kubernetes.io/metadata.name":null}}}`, `{"status":{"phase":"Terminating"}}`},
		statuses: []string{`{"status":{"conditions":[{"type":"T","status":"True"}]}}`, `{"status":{"phase":"Active"}}`, `{"status":{"phase":"Terminating"}}`}},
	{plural: "nodes", apiVersion: "v1", kind: "Node", cluster: true, content: nodeContent,
		patches:  []string{`{"spec":{"unschedulable":true}}`, `{"spec":{"unschedulable":false}}`, `{"spec":{"podCIDR":"10.1.0.0/24"}}`, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`, `{"spec":{"taints":null}}`, `{"spec":{"taints":[{"key":"a","effect":"Other"}]}}`, `{"status":{"capacity":{"cpu":"4"}}}`, `{"spec":{"providerID":"x://1"}}`, `{"spec":null}`},
		statuses: []string{`{"status":{"capacity":{"cpu":"2000m","memory":"1024Mi"}}}`, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, `{"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.3"}]}}`, `{"status":{"capacity":{"cpu":"x"}}}`, `{"status":{"nodeInfo":{"kubeletVersion":"v1"}}}`}},
	{plural: "serviceaccounts", apiVersion: "v1", kind: "ServiceAccount", content: counted(`,"secrets":[{"name":"s%d"}]`),
		patches: []string{`{"secrets":[{"name":"t"}]}`, `{"secrets":null}`, `{"imagePullSecrets":[{"name":"p"}]}`, `{"automountServiceAccountToken":false}`, `{"automountServiceAccountToken":"x"}`}},
	{plural: "jobs", group: "batch", apiVersion: "batch/v1", kind: "Job", content: jobContent,
		patches:  []string{`{"spec":{"parallelism":2}}`, `{"spec":{"suspend":true}}`, `{"spec":{"backoffLimit":-1}}`, `{"spec":{"ttlSecondsAfterFinished":5}}`, `{"spec":{"parallelism":"x"}}`, `{"spec":{"suspend":null}}`},
		statuses: []string{`{"status":{"active":1}}`, `{"status":{"active":-1}}`}},
	{plural: "horizontalpodautoscalers", group: "autoscaling", apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler", content: counted(`,"spec":{"minReplicas":1,"maxReplicas":1%d,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}}`),
		patches:  []string{`{"spec":{"maxReplicas":3}}`, `{"spec":{"maxReplicas":0}}`, `{"spec":{"minReplicas":30}}`, `{"spec":{"scaleTargetRef":null}}`, `{"spec":{"metrics":null}}`, `{"spec":{"behavior":{"scaleDown":{"stabilizationWindowSeconds":60}}}}`},
		statuses: []string{`{"status":{"currentReplicas":2,"desiredReplicas":3}}`, `{"status":{"desiredReplicas":-1}}`}},
	{plural: "priorityclasses", group: "scheduling.k8s.io", apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", cluster: true, content: fixed(`,"value":10`),
		patches: []string{`{"description":"d"}`, `{"value":11}`, `{"preemptionPolicy":"Never"}`, `{"preemptionPolicy":"Other"}`, `{"globalDefault":false}`, `{"value":"x"}`, `{"description":null}`}},
	{plural: "storageclasses", group: "storage.k8s.io", apiVersion: "storage.k8s.io/v1", kind: "StorageClass", cluster: true, content: fixed(`,"provisioner":"example.com/p"`),
		patches: []string{`{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}}`, `{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"false"}}}`, `{"allowVolumeExpansion":true}`, `{"provisioner":"other.example.com"}`,
			`{"parameters":{"a":"b"}}`, `{"reclaimPolicy":"Other"}`, `{"mountOptions":["x"]}`, `{"volumeBindingMode":"WaitForFirstConsumer"}`}},
	{plural: "validatingwebhookconfigurations", group: "admissionregistration.k8s.io", apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", cluster: true,
		content: fixed(`,"webhooks":[{"name":"a.b.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://192.0.2.1/x"},"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["things"]}]}]`),
		patches: []string{`{"webhooks":null}`, `{"webhooks":[]}`, `{"metadata":{"labels":{"x":"y"}}}`}},
	{plural: "roles", group: "rbac.authorization.k8s.io", apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", content: fixed(`,"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`),
		patches: []string{`{"rules":null}`, `{"rules":[]}`, `{"rules":[{"apiGroups":["a"],"resources":["b"],"verbs":["c"]}]}`, `{"rules":[{"apiGroups":["a"],"resources":["b"]}]}`, `{"rules":[{"verbs":["get"]}]}`}},
	{plural: "endpointslices", group: "discovery.k8s.io", apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", content: counted(`,"addressType":"IPv4","endpoints":[{"addresses":["192.0.2.1%d"]}],"ports":[{"port":80}]`),
		patches: []string{`{"endpoints":null}`, `{"endpoints":[]}`, `{"ports":[{"port":81,"name":"x"}]}`, `{"addressType":"IPv6"}`, `{"ports":null}`}},
	{plural: "ingresses", group: "networking.k8s.io", apiVersion: "networking.k8s.io/v1", kind: "Ingress", content: counted(`,"spec":{"defaultBackend":{"service":{"name":"s%d","port":{"number":80}}}}`),
		patches:  []string{`{"spec":{"ingressClassName":"c"}}`, `{"spec":{"defaultBackend":null}}`, `{"spec":{"rules":[{"host":"a.example.com"}]}}`, `{"spec":null}`},
		statuses: []string{`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`, `{"status":{"loadBalancer":{"ingress":[{"hostname":"a.example.com"}]}}}`}},
	{plural: "statefulsets", group: "apps", apiVersion: "apps/v1", kind: "StatefulSet", scale: true, content: func(dice *rand.Rand) string {
		return fmt.Sprintf(`,"spec":{"replicas":%d,"serviceName":"s","selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}`, dice.IntN(3))
	},
		patches:  []string{`{"spec":{"replicas":4}}`, `{"spec":{"replicas":-1}}`, `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`, `{"spec":{"minReadySeconds":3}}`, `{"spec":{"template":{"metadata":{"annotations":{"restart":"1"}}}}}`, `{"spec":{"replicas":null}}`},
		statuses: []string{`{"status":{"replicas":2,"readyReplicas":1}}`, `{"status":{"replicas":-1}}`}},
}

// podSpec and container leave nothing to the server's defaults.
const podSpec = `"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"`

func container(name string, image int) string {
	return fmt.Sprintf(`{"name":%q,"image":"i:%d","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}`, name, image)
}

func deploymentContent(dice *rand.Rand) string {
	return fmt.Sprintf(`,"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"x"}},"progressDeadlineSeconds":600,"revisionHistoryLimit":10,`+
		`"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%%","maxUnavailable":1}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{`+podSpec+`,"containers":[%s]}}}`,
		dice.IntN(3), container("main", dice.IntN(3)))
}

func podContent(dice *rand.Rand) string {
	n := dice.IntN(3)
	return [...]string{
		`,"spec":{` + podSpec + `,"containers":[` + container("main", n) + `]}`,
		fmt.Sprintf(`,"spec":{"containers":[{"name":"main","image":"i:%d","resources":{"requests":{"cpu":"100m"}},"ports":[{"containerPort":80}]}]}`, n),
		fmt.Sprintf(`,"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"i:%d","env":[{"name":"A","value":"b"}]}],"initContainers":[{"name":"first","image":"j"}]}`, n),
		fmt.Sprintf(`,"spec":{"containers":[{"name":"main","image":"i:%d"}],"volumes":[{"name":"v","emptyDir":{}}]}`, n),
	}[dice.IntN(4)]
}

func serviceContent(dice *rand.Rand) string {
	return [...]string{
		`,"spec":{"ports":[{"port":80}],"selector":{"app":"x"}}`,
		`,"spec":{"clusterIP":"None","ports":[{"port":80,"name":"web","targetPort":8080}],"selector":{"app":"x"}}`,
		`,"spec":{"type":"NodePort","ports":[{"port":80,"protocol":"TCP"}]}`,
		`,"spec":{"type":"ExternalName","externalName":"a.example.com"}`,
	}[dice.IntN(4)]
}

func nodeContent(dice *rand.Rand) string {
	const taint = `"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]` // the server adds it
	return [...]string{
		`,"spec":{` + taint + `}`,
		`,"spec":{"podCIDR":"10.1.0.0/24",` + taint + `},"status":{"capacity":{"cpu":"2"}}`,
		`,"spec":{` + taint + `},"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1.37.0"}}`,
	}[dice.IntN(3)]
}

func jobContent(dice *rand.Rand) string {
	return fmt.Sprintf(`,"spec":{"backoffLimit":%d,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"i:1"}]}}}`, dice.IntN(3))
}
