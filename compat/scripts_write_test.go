package compat_test

// writeScripts change objects.
var writeScripts = []script{
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
diff -n NAMESPACE --server-side -f map2.yaml
diff -n NAMESPACE --server-side --force-conflicts -f map2.yaml
apply -n NAMESPACE --server-side --field-manager=other -f map2.yaml
apply -n NAMESPACE --server-side --dry-run=server -f map.yaml
apply -n NAMESPACE view-last-applied cm/goods
apply -n NAMESPACE set-last-applied -f map2.yaml
apply -n NAMESPACE view-last-applied cm goods -o json
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
scale -n NAMESPACE deploy till --replicas=8 --current-replicas=7
scale -n NAMESPACE deploy none --replicas=1
scale -n NAMESPACE cm goods --replicas=1
scale -n NAMESPACE -f deployment.yaml --replicas=-1
patch -n NAMESPACE deploy till --subresource=scale --type=merge -p '{"spec":{"replicas":3}}'
patch -n NAMESPACE deploy till --type=merge -p '{"spec":{"replicas":3}}' --dry-run=server
patch -n NAMESPACE -f deployment.yaml --type=merge -p '{"metadata":{"labels":{"tier":"front"}}}'
patch -n NAMESPACE deploy till --type=nonsense -p '{}'
get -n NAMESPACE deploy till --subresource=scale -o 'jsonpath={.spec}{.status.selector}'
label -n NAMESPACE cm goods tier=front
label -n NAMESPACE cm goods tier=back
label -n NAMESPACE cm goods tier=back --overwrite
label -n NAMESPACE cm goods tier-
annotate -n NAMESPACE cm goods note='it is' other=1
annotate -n NAMESPACE cm goods note-
annotate -n NAMESPACE cm --all other=2 --overwrite
label -n NAMESPACE cm -l app=shop --list
label -n NAMESPACE cm none a=b
label -n NAMESPACE cm goods 'a=not a value'
label -n NAMESPACE cm goods a=b --resource-version=1
set image -n NAMESPACE deploy/till main=registry.invalid/new
set env -n NAMESPACE deploy/till COLOUR=blue
set env -n NAMESPACE deploy/till --list
set resources -n NAMESPACE deploy/till -c main --limits=cpu=200m,memory=64Mi
set serviceaccount -n NAMESPACE deploy/till other
set selector -n NAMESPACE svc/none a=b
get -n NAMESPACE deploy till -o 'jsonpath={.spec.template.spec}'
rollout status -n NAMESPACE deploy/till --watch=false
rollout restart -n NAMESPACE deploy/none
replace -n NAMESPACE -f map.yaml
create -n NAMESPACE -f wrong.yaml
create -n NAMESPACE -f wrong.yaml --validate=false
create -n NAMESPACE -f wrong.yaml --validate=warn
get -n NAMESPACE cm wrong -o yaml
create -n NAMESPACE cm BAD_NAME
create -n none -f map.yaml
create -n NAMESPACE -f list.yaml
apply -n NAMESPACE -f list.yaml
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
	{"Replace", `
create -f namespace.yaml
replace -n NAMESPACE -f map.yaml
create -n NAMESPACE -f map.yaml
replace -n NAMESPACE -f map2.yaml
replace -n NAMESPACE -f stale.yaml
replace -n NAMESPACE -f map2.yaml --dry-run=server
replace -n NAMESPACE -f wrong.yaml
replace -n NAMESPACE --force -f map.yaml
replace -n NAMESPACE -f map2.yaml --save-config
get -n NAMESPACE cm goods -o yaml
apply -n NAMESPACE -f map.yaml
edit -n NAMESPACE cm goods
edit -n NAMESPACE cm goods --output-patch
get -n NAMESPACE cm goods -o yaml
apply -n NAMESPACE -f map.yaml -f service.yaml
apply -n NAMESPACE --prune -l app=shop --prune-allowlist=core/v1/ConfigMap --prune-allowlist=core/v1/Service -f map2.yaml
get -n NAMESPACE cm,svc
apply -n NAMESPACE -f everything.yaml
apply -n NAMESPACE -f everything.yaml
diff -n NAMESPACE -f everything.yaml
diff -n NAMESPACE -f service.yaml
diff -n NAMESPACE -f wrong.yaml
apply -n NAMESPACE -f wrong.yaml
apply -n NAMESPACE -f service.yaml
create -n NAMESPACE -f pod.yaml
replace -n NAMESPACE -f pod2.yaml
apply -n NAMESPACE -f pod2.yaml
replace -n NAMESPACE -f podstatus.yaml --subresource=status
get -n NAMESPACE pod worker -o 'jsonpath={.status.phase} {.metadata.labels}'
get -n NAMESPACE pod worker --subresource=status -o name
auth reconcile -n NAMESPACE -f role.yaml
auth reconcile -n NAMESPACE -f role2.yaml
get -n NAMESPACE role clerk -o yaml
kustomize .
delete -n NAMESPACE -f everything.yaml --wait=false
delete ns NAMESPACE --wait=false
`},
	{"Delete", `
create -f namespace.yaml
create -n NAMESPACE cm a
create -n NAMESPACE cm b
create -n NAMESPACE cm c
create -n NAMESPACE cm d
label -n NAMESPACE cm a b tier=x
delete -n NAMESPACE cm a --dry-run=server
delete -n NAMESPACE cm a --dry-run=client
delete -n NAMESPACE cm -l tier=x
delete -n NAMESPACE cm --field-selector metadata.name=c
delete -n NAMESPACE cm d e
delete -n NAMESPACE cm d --ignore-not-found
delete -n NAMESPACE cm
delete -n NAMESPACE nonsense --all
create -n NAMESPACE -f map.yaml
delete -n NAMESPACE -f map.yaml --now
delete -n NAMESPACE -f map.yaml
create -n NAMESPACE -f map.yaml
delete --raw /api/v1/namespaces/NAMESPACE/configmaps/goods
create -n NAMESPACE -f deployment.yaml
delete -n NAMESPACE deploy till --cascade=foreground --wait=false
get -n NAMESPACE deploy till -o 'jsonpath={.metadata.finalizers} {.metadata.deletionGracePeriodSeconds} {.metadata.generation}'
scale -n NAMESPACE deploy till --replicas=9
patch -n NAMESPACE deploy till --type=merge -p '{"metadata":{"finalizers":["foregroundDeletion","compat.example.com/new"]}}'
delete -n NAMESPACE deploy till --cascade=background --timeout=1s
patch -n NAMESPACE deploy till --type=merge -p '{"metadata":{"finalizers":null}}'
get -n NAMESPACE deploy
create -n NAMESPACE -f pod.yaml
delete -n NAMESPACE pod worker --cascade=background --grace-period=5
get -n NAMESPACE pods
create -n NAMESPACE -f bound.yaml
delete -n NAMESPACE pod bound --wait=false
get -n NAMESPACE pod bound -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
delete -n NAMESPACE pod bound --grace-period=0 --force
delete -n NAMESPACE pods --all
create -n NAMESPACE cm held
patch -n NAMESPACE cm held --type=merge -p '{"metadata":{"finalizers":["compat.example.com/hold"]}}'
& h delete -n NAMESPACE cm held --timeout=30s
until h deleted
wait -n NAMESPACE cm held '--for=jsonpath={.metadata.deletionGracePeriodSeconds}=0' --timeout=10s
patch -n NAMESPACE cm held --type=merge -p '{"metadata":{"finalizers":["compat.example.com/other"]}}'
patch -n NAMESPACE cm held --type=merge -p '{"metadata":{"finalizers":null}}'
join h
delete ns NAMESPACE --wait=false
get ns NAMESPACE -o 'jsonpath={.status.phase} {.spec.finalizers}'
create -n NAMESPACE cm late
`},
}
