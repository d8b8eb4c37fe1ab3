package compat_test

// readScripts look at what is there.
var readScripts = []script{
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
get -n NAMESPACE cm goods -o 'go-template={{.metadata.name}} {{len .data}}{{"\n"}}'
get -n NAMESPACE cm -o jsonpath-as-json={.items[*].metadata.name}
get -n NAMESPACE cm,svc,deploy -o name
get -n NAMESPACE cm --no-headers --chunk-size=1
get -n NAMESPACE cm none --ignore-not-found
get -n NAMESPACE cm goods small none
get -n NAMESPACE cm/goods svc/door
get -n NAMESPACE -f map.yaml -o name
get -n NAMESPACE pods -l 'app in (shop),!tier' -o name
get -n NAMESPACE pods -l 'app=='
label -n NAMESPACE cm goods own=NAMESPACE
get -A cm -l own=NAMESPACE
get -A cm -l own=NAMESPACE -o wide --show-kind
get -n NAMESPACE cm --field-selector metadata.name=small
get -n NAMESPACE cm --field-selector data.a=b
get -n NAMESPACE pods --field-selector status.phase=Pending
get -n NAMESPACE cm none
get -n NAMESPACE nonsense
get -n none cm
get ns NAMESPACE default
get ns NAMESPACE -o yaml
get -n NAMESPACE deploy till -o yaml
get -n NAMESPACE svc door -o yaml
get -n NAMESPACE secret hidden -o yaml
get --raw /api/v1/namespaces/NAMESPACE/configmaps/small
get --raw /healthz
get --raw /apis/nonsense/v1
describe -n NAMESPACE cm goods
describe -n NAMESPACE pod worker
describe -n NAMESPACE deployment till
describe -n NAMESPACE svc door
describe -n NAMESPACE pods -l app=shop
describe -n NAMESPACE cm none
describe ns NAMESPACE
describe -n NAMESPACE secret hidden
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
explain widgets.spec
explain deployment.nonsense
explain hpa --api-version=autoscaling/v2
explain cm --output=plaintext-openapiv2
explain nonsense
auth can-i create pods
auth can-i '*' '*'
auth can-i list pods --as=nobody
auth whoami
auth can-i --list --namespace=default
auth can-i get pods --subresource=log
auth can-i list nodes
auth can-i get /healthz
api-resources --namespaced=true --sort-by=kind --no-headers
api-resources --categories=all -o wide
api-resources --cached --api-group=batch
version -o json
get --raw /version
get --raw /apis
get --raw /api
get --raw /readyz
get --raw /livez?verbose
cluster-info dump --namespaces=none
`},
}
