package compat_test

// manifests are the files that the scripts of kubectl use. NAMESPACE is that of
// the script.
var manifests = map[string]string{
	"namespace.yaml": `
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
`,
	"map.yaml": `
apiVersion: v1
kind: ConfigMap
metadata:
  name: goods
  labels: {app: shop}
data:
  apples: "3"
  pears: "4"
`,
	"last.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: last, labels: {app: shop}}
`,
	"map2.yaml": `
apiVersion: v1
kind: ConfigMap
metadata:
  name: goods
  labels: {app: shop, tier: back}
data:
  apples: "5"
  plums: "6"
`,
	"wrong.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: wrong}
dota: {a: "1"}
`,
	"deployment.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: till
  labels: {app: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec:
      containers:
      - {name: main, image: registry.invalid/till, ports: [{containerPort: 80}]}
`,
	"deployment2.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: till
  labels: {app: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec:
      containers:
      - {name: main, image: registry.invalid/till, ports: [{containerPort: 80}], env: [{name: A, value: b}]}
      - {name: side, image: registry.invalid/side}
`,
	"pod.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: worker, labels: {app: shop}}
spec:
  automountServiceAccountToken: false
  containers: [{name: main, image: registry.invalid/worker}]
`,
	"service.yaml": `
apiVersion: v1
kind: Service
metadata: {name: door, labels: {app: shop}}
spec:
  clusterIP: None
  selector: {app: till}
  ports: [{port: 80}]
`,
	"widget.yaml": `
apiVersion: compat.example.com/v1
kind: Widget
metadata: {name: gear, labels: {app: shop}}
spec:
  size: 4
  parts: [{name: axle, weight: 2}]
`,
	"widget2.yaml": `
apiVersion: compat.example.com/v1
kind: Widget
metadata: {name: gear, labels: {app: shop}}
spec:
  size: 5
  colour: red
  parts: [{name: axle, weight: 3}, {name: tooth}]
`,
	"widget-bad.yaml": `
apiVersion: compat.example.com/v1
kind: Widget
metadata: {name: bad}
spec: {size: 400}
`,
	"widget-odd.yaml": `
apiVersion: compat.example.com/v1
kind: Widget
metadata: {name: odd}
spec: {size: 4, colour: green}
`,
	"widgets.json": widgetDefinition,
	"stale.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: goods, resourceVersion: "1"}
data: {apples: "9"}
`,
	"pod2.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: worker, labels: {app: shop, tier: back}}
spec:
  automountServiceAccountToken: false
  containers: [{name: main, image: registry.invalid/worker2}]
`,
	"podstatus.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: worker, labels: {app: other}}
spec:
  automountServiceAccountToken: false
  containers: [{name: main, image: registry.invalid/worker}]
status: {phase: Running}
`,
	"bound.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: bound, labels: {app: bound}}
spec:
  nodeName: NAMESPACE
  automountServiceAccountToken: false
  containers: [{name: main, image: registry.invalid/bound, resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 1Gi}}}]
`,
	"role.yaml": `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: clerk}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`,
	"role2.yaml": `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: clerk}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
`,
	"kustomization.yaml": `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namePrefix: big-
resources: [map.yaml]
`,
	"node.yaml": `
apiVersion: v1
kind: Node
metadata: {name: NAMESPACE, labels: {kubernetes.io/hostname: NAMESPACE}}
spec: {podCIDR: 192.0.2.0/28}
`,
	"replicasets.yaml": `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: till-1, labels: {app: till, pod-template-hash: "1"}, annotations: {deployment.kubernetes.io/revision: "1", kubernetes.io/change-cause: first}}
spec:
  replicas: 0
  selector: {matchLabels: {app: till, pod-template-hash: "1"}}
  template:
    metadata: {labels: {app: till, pod-template-hash: "1"}}
    spec: {containers: [{name: main, image: registry.invalid/till-1}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: till-2, labels: {app: till, pod-template-hash: "2"}, annotations: {deployment.kubernetes.io/revision: "2"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: till, pod-template-hash: "2"}}
  template:
    metadata: {labels: {app: till, pod-template-hash: "2"}}
    spec: {containers: [{name: main, image: registry.invalid/till, ports: [{containerPort: 80}]}]}
`,
	"events.yaml": `
apiVersion: v1
kind: Event
metadata: {name: worker.1}
involvedObject: {apiVersion: v1, kind: Pod, name: worker, namespace: NAMESPACE}
reason: Pulling
message: Pulling the image
type: Normal
count: 2
source: {component: kubelet, host: none}
---
apiVersion: v1
kind: Event
metadata: {name: door.1}
involvedObject: {apiVersion: v1, kind: Service, name: door, namespace: NAMESPACE}
reason: Opened
message: Opened the door
type: Normal
source: {component: door}
---
apiVersion: v1
kind: Event
metadata: {name: worker.2}
involvedObject: {apiVersion: v1, kind: Pod, name: worker, namespace: NAMESPACE, fieldPath: "spec.containers{main}"}
reason: Failed
message: "Failed to pull the image:\nno such host"
type: Warning
source: {component: kubelet, host: none}
`,
	"event-wrong.yaml": `
apiVersion: v1
kind: Event
metadata: {name: wrong}
involvedObject: {kind: Pod, name: worker, namespace: elsewhere}
`,
	"list.yaml": `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {colour: red}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {colour: red}}
`,
	"everything.yaml": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: "registry.invalid/db:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {hostNetwork: true, containers: [{name: main, image: registry.invalid/agent, ports: [{containerPort: 9100}]}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 2Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: wall}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{podSelector: {matchLabels: {app: till}}}], ports: [{port: 5432}]}]
---
apiVersion: v1
kind: LimitRange
metadata: {name: box}
spec: {limits: [{type: PersistentVolumeClaim, min: {storage: 1Gi}}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: far}
subsets: [{addresses: [{ip: 192.0.2.9}], ports: [{port: 80}]}]
`,
}
