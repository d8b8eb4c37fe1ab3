package compat_test

// watchScripts follow what happens.
var watchScripts = []script{
	{"Wait", `
create -f namespace.yaml
& w get -n NAMESPACE cm -w
& e get -n NAMESPACE cm -w -o json --output-watch-events
& n get -n NAMESPACE cm -l app=shop -w -o name
& s get -n NAMESPACE cm --field-selector metadata.name=goods -w -o custom-columns=TYPE:.type,NAME:.object.metadata.name,DATA:.object.data --output-watch-events
& p get -n NAMESPACE cm -w -o 'jsonpath={.metadata.name} {.data}{"\n"}'
apply -n NAMESPACE -f map.yaml
until w goods
until e goods
until n goods
until s goods
until p goods
apply -n NAMESPACE -f map2.yaml
annotate -n NAMESPACE cm goods note=x
delete -n NAMESPACE cm goods
create -n NAMESPACE -f last.yaml
until w last
until s DELETED
until e last
until n last
until p last
end w
end e
end n
end s
end p
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
get -n NAMESPACE cm --watch-only --request-timeout=2s
delete -n NAMESPACE pod worker --grace-period=0 --force
delete ns NAMESPACE --wait=false
`},
	{"Rollout", `
create -f namespace.yaml
apply -n NAMESPACE -f deployment.yaml
let UID get -n NAMESPACE deploy till -o jsonpath={.metadata.uid}
rollout history -n NAMESPACE deploy/till
create -n NAMESPACE -f replicasets.yaml
patch -n NAMESPACE rs till-1 --type=merge -p '{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"till","uid":"{UID}","controller":true}]}}'
patch -n NAMESPACE rs till-2 --type=merge -p '{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"till","uid":"{UID}","controller":true}]}}'
rollout history -n NAMESPACE deploy/till
rollout history -n NAMESPACE deploy/till --revision=2
rollout history -n NAMESPACE deploy/till --revision=9
describe -n NAMESPACE deploy till
get -n NAMESPACE rs -o wide
describe -n NAMESPACE rs till-1
rollout undo -n NAMESPACE deploy/till --to-revision=1 --dry-run=server
rollout undo -n NAMESPACE deploy/till --to-revision=1
rollout undo -n NAMESPACE deploy/till
get -n NAMESPACE deploy till -o 'jsonpath={.spec.template.spec.containers[*].image}'
rollout pause -n NAMESPACE deploy/till
rollout pause -n NAMESPACE deploy/till
rollout restart -n NAMESPACE deploy/till
rollout resume -n NAMESPACE deploy/till
rollout restart -n NAMESPACE deploy/till
get -n NAMESPACE deploy till -o 'jsonpath={.spec.template.metadata.annotations}'
patch -n NAMESPACE deploy till --type=merge -p '{"spec":{"replicas":2}}'
& r rollout status -n NAMESPACE deploy/till --timeout=30s
until r observed
patch -n NAMESPACE deploy till --subresource=status --type=merge -p '{"status":{"observedGeneration":99,"replicas":2,"updatedReplicas":1}}'
until r 1 out
patch -n NAMESPACE deploy till --subresource=status --type=merge -p '{"status":{"replicas":3,"updatedReplicas":2}}'
until r old
patch -n NAMESPACE deploy till --subresource=status --type=merge -p '{"status":{"replicas":2,"updatedReplicas":2,"readyReplicas":1,"availableReplicas":1}}'
until r available
patch -n NAMESPACE deploy till --subresource=status --type=merge -p '{"status":{"readyReplicas":2,"availableReplicas":2}}'
join r
rollout status -n NAMESPACE deploy/till
get -n NAMESPACE deploy till
patch -n NAMESPACE deploy till --subresource=status --type=merge -p '{"status":{"updatedReplicas":0,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}}'
rollout status -n NAMESPACE deploy/till
create -n NAMESPACE -f everything.yaml
rollout status -n NAMESPACE ds/agent --watch=false
rollout status -n NAMESPACE sts/db --watch=false
rollout restart -n NAMESPACE ds/agent sts/db
rollout history -n NAMESPACE sts/db
rollout undo -n NAMESPACE ds/agent
rollout status -n NAMESPACE cm/none
scale -n NAMESPACE sts db --replicas=2
scale -n NAMESPACE ds agent --replicas=2
scale -n NAMESPACE rs till-1 --replicas=3
scale -n NAMESPACE deploy/till rs/till-2 --replicas=4
delete ns NAMESPACE --wait=false
`},
	{"Events", `
create -f namespace.yaml
create -n NAMESPACE -f pod.yaml
& w events -n NAMESPACE --watch --for=pod/worker
create -n NAMESPACE -f events.yaml
until w Failed
end w
get -n NAMESPACE events
get -n NAMESPACE events -o wide
get -n NAMESPACE events --sort-by=.reason -o custom-columns=REASON:.reason,ABOUT:.involvedObject.name
get -n NAMESPACE events --field-selector reason=Failed,involvedObject.kind=Pod -o name
get -n NAMESPACE events --field-selector nonsense=x
get -n NAMESPACE events.v1.events.k8s.io -o yaml
get -n NAMESPACE event worker.1 -o yaml
events -n NAMESPACE
events -n NAMESPACE --types=Warning --no-headers
events -n NAMESPACE --for=pod/worker -o name
events -n NAMESPACE --for=pod/none
describe -n NAMESPACE pod worker
describe -n NAMESPACE events
describe -n NAMESPACE event worker.1
create -n NAMESPACE -f event-wrong.yaml
patch -n NAMESPACE event worker.1 --type=merge -p '{"count":3}'
label -n NAMESPACE events.events.k8s.io worker.2 a=b
delete -n NAMESPACE event worker.1
delete -n NAMESPACE events --all
get -n NAMESPACE events
delete ns NAMESPACE --wait=false
`},
}
