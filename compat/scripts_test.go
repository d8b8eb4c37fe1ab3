package compat_test

// manifests are the files that the scripts of kubectl use.
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
}

// kubectlScripts are played one by one, each against a server of its own or, on
// the real one, in turn.
var kubectlScripts = []struct{ name, lines string }{
	{"Read", `
create -f namespace.yaml
create -n NAMESPACE -f map.yaml
create -n NAMESPACE -f map.yaml
create -n NAMESPACE configmap small --from-literal=a=b
create -n NAMESPACE secret generic hidden --from-literal=password=1234
create -n NAMESPACE -f pod.yaml
create -n NAMESPACE -f service.yaml
create -n NAMESPACE -f deployment.yaml
get -n NAMESPACE configmaps
get -n NAMESPACE cm,pods -o wide
get -n NAMESPACE configmap goods -o yaml
get -n NAMESPACE configmap goods -o json --show-managed-fields
get -n NAMESPACE pod worker -o yaml
get -n NAMESPACE pods -o name
get -n NAMESPACE all
get -n NAMESPACE deploy till -o wide
get -n NAMESPACE svc
get -n NAMESPACE secrets
get -n NAMESPACE cm -o 'jsonpath={range .items[*]}{.metadata.name}={.data}{"\n"}{end}'
get -n NAMESPACE cm -o custom-columns=NAME:.metadata.name,DATA:.data.apples
get -n NAMESPACE cm --show-labels -l app=shop
get -n NAMESPACE cm -L app --sort-by=.metadata.name
get -n NAMESPACE cm --field-selector metadata.name=small
get -n NAMESPACE cm --field-selector data.a=b
get -n NAMESPACE pods --field-selector status.phase=Pending
get -n NAMESPACE cm none
get -n NAMESPACE nonsense
get -n none cm
get ns NAMESPACE default
get --raw /api/v1/namespaces/NAMESPACE/configmaps/small
get --raw /healthz
get --raw /apis/nonsense/v1
describe -n NAMESPACE cm goods
describe -n NAMESPACE pod worker
describe -n NAMESPACE deployment till
describe -n NAMESPACE svc door
describe ns NAMESPACE
describe -n NAMESPACE secret hidden
delete ns NAMESPACE --wait=false
`},
	{"Write", `
create -f namespace.yaml
apply -n NAMESPACE -f map.yaml
apply -n NAMESPACE -f map.yaml
diff -n NAMESPACE -f map2.yaml
apply -n NAMESPACE -f map2.yaml
get -n NAMESPACE cm goods -o yaml
apply -n NAMESPACE -f map2.yaml --dry-run=server
apply -n NAMESPACE -f map.yaml --dry-run=client
apply -n NAMESPACE --server-side -f map.yaml
apply -n NAMESPACE --server-side --force-conflicts -f map.yaml
get -n NAMESPACE cm goods -o json --show-managed-fields
create -n NAMESPACE -f deployment.yaml --dry-run=server
apply -n NAMESPACE -f deployment.yaml
apply -n NAMESPACE -f deployment2.yaml
get -n NAMESPACE deploy till -o yaml
patch -n NAMESPACE deploy till -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.invalid/other"}]}}}}'
patch -n NAMESPACE deploy till --type=merge -p '{"metadata":{"annotations":{"note":"x"}},"spec":{"replicas":4}}'
patch -n NAMESPACE deploy till --type=json -p '[{"op":"replace","path":"/spec/replicas","value":5},{"op":"test","path":"/spec/paused","value":null}]'
patch -n NAMESPACE deploy till --type=json -p '[{"op":"test","path":"/spec/replicas","value":99}]'
patch -n NAMESPACE deploy till --type=json -p '[{"op":"remove","path":"/spec/nothing"}]'
patch -n NAMESPACE deploy till --type=merge -p '{"spec":{"replicas":"many"}}'
patch -n NAMESPACE deploy till -p 'nonsense'
patch -n NAMESPACE deploy none -p '{}'
patch -n NAMESPACE deploy till --subresource=status --type=merge -p '{"status":{"replicas":2,"observedGeneration":1}}'
get -n NAMESPACE deploy till -o 'jsonpath={.spec}{"\n"}{.metadata.generation}{"\n"}{.status}'
scale -n NAMESPACE deploy till --replicas=7
scale -n NAMESPACE deploy till --replicas=8 --current-replicas=3
get -n NAMESPACE deploy till --subresource=scale -o 'jsonpath={.spec}{.status.selector}'
label -n NAMESPACE cm goods tier=front
label -n NAMESPACE cm goods tier=back
label -n NAMESPACE cm goods tier=back --overwrite
label -n NAMESPACE cm goods tier-
annotate -n NAMESPACE cm goods note='it is' other=1
annotate -n NAMESPACE cm goods note-
set image -n NAMESPACE deploy/till main=registry.invalid/new
set env -n NAMESPACE deploy/till COLOUR=blue
rollout status -n NAMESPACE deploy/till --watch=false
rollout restart -n NAMESPACE deploy/none
replace -n NAMESPACE -f map.yaml
create -n NAMESPACE -f wrong.yaml
create -n NAMESPACE -f wrong.yaml --validate=false
create -n NAMESPACE -f wrong.yaml --validate=warn
get -n NAMESPACE cm wrong -o yaml
create -n NAMESPACE cm BAD_NAME
create -n none -f map.yaml
delete -n NAMESPACE cm none
delete -n NAMESPACE cm wrong
delete -n NAMESPACE cm -l app=shop
delete -n NAMESPACE deploy till --cascade=orphan --wait=false
get -n NAMESPACE deploy till -o 'jsonpath={.metadata.finalizers} {.metadata.deletionTimestamp}'
patch -n NAMESPACE deploy till --type=merge -p '{"metadata":{"finalizers":null}}'
delete -n NAMESPACE cm,deploy --all
get -n NAMESPACE cm
delete ns NAMESPACE --wait=false
`},
	{"Wait", `
create -f namespace.yaml
& w get -n NAMESPACE cm -w
& e get -n NAMESPACE cm -w -o json --output-watch-events
apply -n NAMESPACE -f map.yaml
until w goods
apply -n NAMESPACE -f map2.yaml
annotate -n NAMESPACE cm goods note=x
delete -n NAMESPACE cm goods
create -n NAMESPACE cm last
until w last
until e last
end w
end e
create -n NAMESPACE cm gone
& d wait -n NAMESPACE --for=delete cm/gone --timeout=30s
delete -n NAMESPACE cm gone
exit d
wait -n NAMESPACE --for=delete cm/gone --timeout=5s
wait -n NAMESPACE --for=delete cm/last --timeout=1s
create -n NAMESPACE -f pod.yaml
& c wait -n NAMESPACE --for=condition=Ready pod/worker --timeout=30s
patch -n NAMESPACE pod worker --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
join c
wait -n NAMESPACE '--for=jsonpath={.status.phase}=Running' pod/worker --timeout=5s
wait -n NAMESPACE --for=create cm/last --timeout=5s
wait -n NAMESPACE --for=condition=Ready pod/none --timeout=1s
get -n NAMESPACE pod worker
get -n NAMESPACE events
events -n NAMESPACE
patch -n NAMESPACE cm last --type=merge -p '{"metadata":{"finalizers":["compat.example.com/hold"]}}'
delete -n NAMESPACE cm last --wait=false
get -n NAMESPACE cm last -o 'jsonpath={.metadata.finalizers} {.metadata.deletionGracePeriodSeconds}'
patch -n NAMESPACE cm last --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
get -n NAMESPACE cm last
delete -n NAMESPACE pod worker --grace-period=0 --force
delete ns NAMESPACE --wait=false
`},
	{"Discover", `
api-versions
api-resources
api-resources --namespaced=false -o name
api-resources --api-group=apps
api-resources --verbs=list,watch -o name
version
cluster-info
explain configmap
explain deployment.spec.replicas
explain pods.spec.containers --recursive
explain nonsense
auth can-i create pods
auth can-i '*' '*'
auth can-i list pods --as=nobody
auth whoami
`},
	{"Custom", `
create -f namespace.yaml
create -f widgets.json
wait --for=condition=Established crd/widgets.compat.example.com --timeout=20s
get crd widgets.compat.example.com
get crd widgets.compat.example.com -o 'jsonpath={.status}'
api-resources --api-group=compat.example.com
retry explain widget.spec
create -n NAMESPACE -f widget.yaml
get -n NAMESPACE wd
get -n NAMESPACE widget gear -o yaml
apply -n NAMESPACE -f widget2.yaml
apply -n NAMESPACE -f widget2.yaml
get -n NAMESPACE widgets -o wide
get -n NAMESPACE all
create -n NAMESPACE -f widget-bad.yaml
create -n NAMESPACE -f widget-odd.yaml
apply -n NAMESPACE --server-side -f widget.yaml
apply -n NAMESPACE --server-side --force-conflicts -f widget.yaml
get -n NAMESPACE widget gear -o json --show-managed-fields
patch -n NAMESPACE widget gear --type=merge -p '{"spec":{"size":7,"unknown":1}}'
patch -n NAMESPACE widget gear -p '{"spec":{"size":7}}'
patch -n NAMESPACE widget gear --type=json -p '[{"op":"add","path":"/spec/parts/-","value":{"name":"x"}}]'
patch -n NAMESPACE widget gear --subresource=status --type=merge -p '{"status":{"observedGeneration":3,"size":7,"conditions":[{"type":"Ready","status":"True"}]}}'
scale -n NAMESPACE widget gear --replicas=9
wait -n NAMESPACE --for=condition=Ready widget/gear --timeout=5s
describe -n NAMESPACE widget gear
get -n NAMESPACE widget gear -o 'jsonpath={.metadata.generation} {.spec} {.status}'
delete -n NAMESPACE widget gear
delete crd widgets.compat.example.com
get -n NAMESPACE widgets
delete ns NAMESPACE --wait=false
`},
}
