package operators_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/kube"
)

// TestOperators runs the operators of examples/ beside kube-controller-manager,
// with the rights of their service accounts and no others.
func TestOperators(t *testing.T) {
	s := newOperatorStage(t)
	for _, name := range []string{"foo", "cloudmanager", "database"} {
		s.deploy(name)
	}
	s.run()
	t.Run("Foo", func(t *testing.T) { s.with(t).foo() })
	t.Run("CloudManager", func(t *testing.T) { s.with(t).cloudManager() })
	t.Run("Database", func(t *testing.T) { s.with(t).database() })
}

func (s *stage) with(t *testing.T) *stage {
	other := *s
	other.T = t
	return &other
}

// lead starts the first replica, which becomes the leader, and then the second one, each
// with further arguments.
func (s *stage) lead(name, config string, args ...[]string) (first, second *replica, holder string) {
	s.Helper()
	path := setup.BuildAsTest(s.T, "../..", "./examples/"+name)
	ns, lease := name+"-system", name+"-operator"
	s.until("the manifest's own Pods are ready", func() bool {
		d, _ := s.get(kube.Deployments, ns, lease)
		return d.Status.AvailableReplicas == 2
	})
	args = append(args, nil, nil)
	first = startReplica(s.T, path, config, args[0]...)
	s.until("the first replica leads", func() bool { holder = s.holder(name); return holder != "" })
	return first, startReplica(s.T, path, config, args[1]...), holder
}

func (s *stage) holder(name string) string {
	l, _ := s.get(kube.Leases, name+"-system", name+"-operator")
	return l.Spec.HolderIdentity
}

// many is how many objects come at once.
const many = 200

// turmoil: while many objects are being reconciled, the leader is killed, and then
// the apiserver. done says how many children there are.
func (s *stage) turmoil(name string, leader, other *replica, holder string, done func() int, want int) {
	s.Helper()
	s.progress("a quarter is done", func() int { return want/4 - done() })
	if done() == want {
		s.Error("all was done before the leader was killed")
	}
	leader.kill()
	s.until("another replica leads", func() bool { now := s.holder(name); return now != holder && now != "" })
	s.progress("half is done", func() int { return want/2 - done() })
	for _, r := range []*replica{leader, other} {
		r.never("forbidden") // its role has all that it needs; an apiserver that has just started knows no roles yet
	}
	if err := s.cluster.RestartAPIServer(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.progress("all is done", func() int { return want - done() })
}

func (s *stage) foo() {
	config, token := s.serviceKubeconfig("foo")
	s.forbidden(token, "GET", kube.Secrets.Path(""), "")
	s.forbidden(token, "POST", foos.Path("default"), `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"no"},"spec":{"deploymentName":"no"}}`)
	s.forbidden(token, "POST", kube.Deployments.Path("foo-system")+"/foo-operator/scale", "{}")
	first, second, holder := s.lead("foo", config)
	s.fooLife()

	ns := s.namespace("many-foos")
	var names []string
	for i := range many {
		name := fmt.Sprintf("web-%03d", i)
		names = append(names, name)
		s.create(foos, ns, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"foo-%03d"},"spec":{"deploymentName":%q}}`, i, name))
	}
	s.turmoil("foo", first, second, holder, func() int { return len(s.names(kube.Deployments, ns)) }, many)
	s.progress("all Foos are ready", func() int {
		left := many
		for _, name := range s.names(foos, ns) {
			if o, _ := s.get(foos, ns, name); o.ready() == "True Available" && o.Status.AvailableReplicas == 1 {
				left--
			}
		}
		return left
	})
	s.exactly(kube.Deployments, ns, names)
	for r, n := range map[kube.Resource]int{kube.ReplicaSets: many, kube.Pods: many} {
		if got := len(s.names(r, ns)); got != n {
			s.Errorf("%d %s, want %d", got, r, n)
		}
	}
	for i := range many {
		o, _ := s.get(foos, ns, fmt.Sprintf("foo-%03d", i))
		d, _ := s.get(kube.Deployments, ns, fmt.Sprintf("web-%03d", i))
		if owner, _ := kube.ControllerOf(d.OwnerReferences); owner.UID != o.UID || o.UID == "" {
			s.Errorf("%s belongs to %+v", d.Name, owner)
		}
	}
	s.deleteAll(foos, ns)
	s.progress("nothing of the Foos is left", func() int {
		return len(s.names(foos, ns)) + len(s.names(kube.Deployments, ns)) + len(s.names(kube.ReplicaSets, ns)) + len(s.names(kube.Pods, ns))
	})
	second.stop()
	first.stop()
}

// exactly checks that there are the named objects and no others, that each was made
// once, and that nobody had to change what was made.
func (s *stage) exactly(r kube.Resource, ns string, want []string) {
	s.Helper()
	want = slices.Clone(want)
	slices.Sort(want)
	if diff := cmp.Diff(want, s.names(r, ns)); diff != "" {
		s.Errorf("%s (-want +got):\n%s", r, diff)
	}
	for _, name := range want {
		o, _ := s.get(r, ns, name)
		if n := s.lives(r, kube.Key{Namespace: ns, Name: name}); n != 1 || o.Generation > 1 {
			s.Errorf("%s %s was made %d times and is of generation %d", r.Kind, name, n, o.Generation)
		}
	}
}

// fooLife is one Foo, from its creation to its end.
func (s *stage) fooLife() {
	const ns = "default"
	is := func(deployment string, replicas int) func() bool {
		return func() bool {
			o, _ := s.get(foos, ns, "example")
			d, _ := s.get(kube.Deployments, ns, deployment)
			owner, _ := kube.ControllerOf(d.OwnerReferences)
			return o.ready() == "True Available" && o.Status.AvailableReplicas == replicas && o.Status.ObservedGeneration == o.Generation &&
				d.Spec.Replicas == replicas && d.image() == "nginx:1.29" && owner.UID == o.UID && d.DeletionTimestamp == nil
		}
	}
	s.kube("apply", "-f", example("foo", "sample.yaml"))
	s.until("the sample is made", is("example-foo", 3))
	s.until("its Event is recorded", func() bool { return s.recorded(ns, "example", "Normal", "Synced") })

	s.kube("scale", "foos.example.com/example", "--replicas=5")
	s.until("it is scaled", is("example-foo", 5))

	before, _ := s.get(kube.Deployments, ns, "example-foo")
	s.patch(kube.Deployments, ns, "example-foo", `{"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"nginx","image":"evil"}]}}}}`)
	s.until("drift is repaired", func() bool {
		d, _ := s.get(kube.Deployments, ns, "example-foo")
		return d.Generation == before.Generation+2 && is("example-foo", 5)()
	})
	s.kube("delete", "deployment", "example-foo", "--wait=false")
	s.until("a deleted Deployment is made again", func() bool {
		d, _ := s.get(kube.Deployments, ns, "example-foo")
		return d.UID != before.UID && is("example-foo", 5)()
	})
	s.patch(foos, ns, "example", `{"spec":{"deploymentName":"renamed"}}`)
	s.until("another name has another Deployment", func() bool {
		_, old := s.get(kube.Deployments, ns, "example-foo")
		return !old && is("renamed", 5)()
	})

	s.kube("create", "deployment", "taken", "--image=theirs")
	s.patch(foos, ns, "example", `{"spec":{"deploymentName":"taken"}}`)
	s.until("what is somebody else's is refused", func() bool {
		o, _ := s.get(foos, ns, "example")
		return o.ready() == "False ErrResourceExists" && s.recorded(ns, "example", "Warning", "ErrResourceExists")
	})
	if d, _ := s.get(kube.Deployments, ns, "taken"); d.image() != "theirs" || d.Spec.Replicas != 1 || d.Generation != 1 {
		s.Errorf("somebody else's Deployment was changed: %+v", d)
	}
	s.kube("delete", "deployment", "taken", "--wait=false")
	s.until("the name is free", is("taken", 5))

	s.kube("delete", "-f", example("foo", "sample.yaml"), "--wait=false")
	s.until("the garbage is collected", func() bool {
		return len(s.names(foos, ns))+len(s.names(kube.Deployments, ns))+len(s.names(kube.ReplicaSets, ns))+len(s.names(kube.Pods, ns)) == 0
	})
}
