package compat_test

// nodeScripts are about nodes, and about what only a node can answer.
var nodeScripts = []script{
	{"Node", `
create -f namespace.yaml
create -f node.yaml
get nodes
get nodes -o wide
get node NAMESPACE -o yaml
taint node NAMESPACE role=till:NoSchedule
taint node NAMESPACE role=till:NoSchedule
taint node NAMESPACE role=door:NoSchedule --overwrite
taint node NAMESPACE role:NoSchedule-
taint node NAMESPACE role-
taint node NAMESPACE role=x:Nonsense
cordon NAMESPACE
cordon NAMESPACE
get node NAMESPACE -o 'jsonpath={.spec}'
uncordon NAMESPACE
label node NAMESPACE node-role.kubernetes.io/worker=
annotate node NAMESPACE note=x
patch node NAMESPACE --subresource=status -p '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"ok"}],"capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"allocatable":{"cpu":"3500m","memory":"7Gi","pods":"110"},"addresses":[{"type":"InternalIP","address":"192.0.2.7"}],"nodeInfo":{"kubeletVersion":"v1.37.0","osImage":"None","kernelVersion":"6","containerRuntimeVersion":"containerd://2","architecture":"amd64","operatingSystem":"linux","bootID":"","kubeProxyVersion":"","machineID":"","systemUUID":""}}}'
patch node NAMESPACE --subresource=status -p '{"status":{"conditions":[{"type":"DiskPressure","status":"False"}]}}'
get node NAMESPACE -o wide
get node NAMESPACE --show-labels
create -n NAMESPACE -f bound.yaml
describe node NAMESPACE
get -n NAMESPACE pods -o wide
get pods -A --field-selector spec.nodeName=NAMESPACE
drain NAMESPACE --dry-run=server
drain NAMESPACE --timeout=3s
drain NAMESPACE --force --grace-period=0 --timeout=3s --pod-selector=none=x
drain NAMESPACE --force --disable-eviction --grace-period=0 --timeout=10s
get node NAMESPACE
drain none
cordon none
top node
top pod -n NAMESPACE
delete node NAMESPACE
get nodes
delete ns NAMESPACE --wait=false
`},
	{"Kubelet", `
create -f namespace.yaml
create -n NAMESPACE -f pod.yaml
logs -n NAMESPACE worker
logs -n NAMESPACE worker -c none
logs -n NAMESPACE none
logs -n NAMESPACE deploy/none
exec -n NAMESPACE worker -- true
exec -n NAMESPACE none -- true
attach -n NAMESPACE worker
port-forward -n NAMESPACE pod/worker 0:80
cp -n NAMESPACE namespace.yaml worker:/tmp/x
debug -n NAMESPACE worker --image=registry.invalid/debug
get -n NAMESPACE pod worker -o 'jsonpath={.spec.ephemeralContainers[*].image}'
get --raw /api/v1/namespaces/NAMESPACE/pods/worker/log
get --raw /api/v1/namespaces/NAMESPACE/pods/worker/proxy/
delete ns NAMESPACE --wait=false
`},
}
