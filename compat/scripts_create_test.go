package compat_test

// createScripts create objects by generators and from files.
var createScripts = []script{
	{"Create", `
create -f namespace.yaml
create -n NAMESPACE deployment web --image=registry.invalid/web --replicas=2 --port=80
create -n NAMESPACE deployment web --image=registry.invalid/web
get -n NAMESPACE deploy web -o yaml
expose -n NAMESPACE deploy web --port=80 --target-port=8080
expose -n NAMESPACE deploy web --name=web2 --port=80 --cluster-ip=None
create -n NAMESPACE service clusterip c --tcp=80:8080
create -n NAMESPACE service nodeport n --tcp=80
create -n NAMESPACE service externalname e --external-name=shop.example.com
create -n NAMESPACE service loadbalancer l --tcp=443
get -n NAMESPACE svc
get -n NAMESPACE svc n -o yaml
describe -n NAMESPACE svc n
describe -n NAMESPACE svc e
run -n NAMESPACE one --image=registry.invalid/one --restart=Never --labels=app=one --env=A=b
get -n NAMESPACE pod one -o yaml
create -n NAMESPACE job j --image=registry.invalid/j -- /bin/true
get -n NAMESPACE job j -o yaml
describe -n NAMESPACE job j
create -n NAMESPACE cronjob cj --image=registry.invalid/j '--schedule=0 1 * * *'
get -n NAMESPACE cronjob cj -o yaml
create -n NAMESPACE job j2 --from=cronjob/cj
describe -n NAMESPACE cronjob cj
autoscale -n NAMESPACE deploy web --min=1 --max=4 --cpu=70%
get -n NAMESPACE hpa
get -n NAMESPACE hpa web -o yaml
describe -n NAMESPACE hpa web
create -n NAMESPACE role r --verb=get,list --resource=pods,deployments.apps
create -n NAMESPACE rolebinding rb --role=r --user=jane --serviceaccount=NAMESPACE:bot
get -n NAMESPACE role,rolebinding -o yaml
describe -n NAMESPACE role r
describe -n NAMESPACE rolebinding rb
create clusterrole NAMESPACE --verb=get --resource=nodes
create clusterrolebinding NAMESPACE --clusterrole=NAMESPACE --group=NAMESPACE
describe clusterrole NAMESPACE
get clusterrolebinding NAMESPACE -o wide
create -n NAMESPACE serviceaccount bot
get -n NAMESPACE sa bot -o yaml
describe -n NAMESPACE sa bot
create -n NAMESPACE token bot
create -n NAMESPACE quota q --hard=pods=3,configmaps=9
describe -n NAMESPACE quota q
create -n NAMESPACE pdb p --selector=app=web --min-available=1
get -n NAMESPACE pdb p -o yaml
describe -n NAMESPACE pdb p
create priorityclass NAMESPACE --value=7 --description=x
get pc NAMESPACE -o yaml
create -n NAMESPACE ingress i --rule=shop.example.com/=web:80 --class=none
get -n NAMESPACE ingress i -o yaml
describe -n NAMESPACE ingress i
create -n NAMESPACE configmap files --from-file=namespace.yaml --from-literal=a=b
get -n NAMESPACE cm files -o yaml
create -n NAMESPACE secret docker-registry d --docker-server=registry.invalid --docker-username=u --docker-password=p
create -n NAMESPACE secret generic g --from-file=key=namespace.yaml --type=compat.example.com/t
get -n NAMESPACE secrets
create -n NAMESPACE -f everything.yaml
get -n NAMESPACE sts,ds,rs,pvc,netpol,limits,ep -o wide
get -n NAMESPACE sts db -o yaml
get -n NAMESPACE ds agent -o yaml
get -n NAMESPACE pvc disk -o yaml
describe -n NAMESPACE sts db
describe -n NAMESPACE ds agent
describe -n NAMESPACE pvc disk
describe -n NAMESPACE netpol wall
describe -n NAMESPACE limits box
get -n NAMESPACE all
delete clusterrole,clusterrolebinding,pc NAMESPACE
delete ns NAMESPACE --wait=false
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
