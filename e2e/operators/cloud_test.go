package operators_test

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/listwatch/listwatch/kube"

	"github.com/listwatch/listwatch/e2e/internal/setup"
)

func (s *stage) cloudManager() {
	config, token := s.serviceKubeconfig("cloudmanager")
	s.forbidden(token, "GET", kube.ConfigMaps.Path("default"), "")
	s.forbidden(token, "DELETE", cloudManagers.ObjectPath(kube.Key{Namespace: "default", Name: "example"}), "")
	first, second, holder := s.lead("cloudmanager", config)
	s.cloudLife()

	// Each names some of the parts: 1 the db, 2 identity, 4 the front.
	ns := s.namespace("many-clouds")
	want := map[kube.Resource][]string{}
	total := 0
	for i := range many {
		name, parts := fmt.Sprintf("c%03d", i), i%7+1
		spec := map[string]any{}
		for bit, part := range map[int]string{1: "db", 2: "identity", 4: "front"} {
			if parts&bit == 0 {
				continue
			}
			spec[part] = map[string]any{"image": part + ":1"}
			total++
			if part != "db" {
				want[kube.Deployments] = append(want[kube.Deployments], name+"-"+part)
				continue
			}
			want[kube.Secrets] = append(want[kube.Secrets], name+"-db")
			want[kube.StatefulSets] = append(want[kube.StatefulSets], name+"-db")
			want[kube.PersistentVolumeClaims] = append(want[kube.PersistentVolumeClaims], "data-"+name+"-db-0")
		}
		object, err := json.Marshal(map[string]any{"apiVersion": "example.com/v1", "kind": "CloudManager", "metadata": map[string]string{"name": name}, "spec": spec})
		if err != nil {
			s.Fatal(err)
		}
		s.create(cloudManagers, ns, string(object))
	}
	workloads := func() int { return len(s.names(kube.Deployments, ns)) + len(s.names(kube.StatefulSets, ns)) }
	s.turmoil("cloudmanager", first, second, holder, workloads, total)
	s.progress("all CloudManagers are ready", func() int {
		left := many
		for _, name := range s.names(cloudManagers, ns) {
			if o, _ := s.get(cloudManagers, ns, name); o.Status.Phase == "ready" && o.Status.ObservedGeneration == o.Generation {
				left--
			}
		}
		return left
	})
	for r, names := range want {
		s.exactly(r, ns, names)
	}
	for r, n := range map[kube.Resource]int{kube.ReplicaSets: len(want[kube.Deployments]), kube.Pods: total} {
		if got := len(s.names(r, ns)); got != n {
			s.Errorf("%d %s, want %d", got, r, n)
		}
	}
	s.deleteAll(cloudManagers, ns)
	s.progress("nothing of the CloudManagers is left", func() int { return s.cloudsIn(ns) })
	second.stop()
	first.stop()
}

// cloudsIn counts what there is of CloudManagers.
func (s *stage) cloudsIn(ns string) int {
	n := 0
	for _, r := range []kube.Resource{
		cloudManagers, kube.Deployments, kube.StatefulSets, kube.ReplicaSets, kube.Pods, kube.Secrets, kube.PersistentVolumeClaims,
	} {
		n += len(s.names(r, ns))
	}
	return n
}

// cloudLife is one CloudManager, from its creation to its end.
func (s *stage) cloudLife() {
	const ns = "default"
	isReady := func() bool {
		o, _ := s.get(cloudManagers, ns, "example")
		return o.Status.Phase == "ready" && o.ready() == "True ready" && o.Status.ObservedGeneration == o.Generation
	}
	has := func(r kube.Resource, part string, replicas int, image string) bool {
		c, _ := s.get(r, ns, "example-"+part)
		return c.Spec.Replicas == replicas && c.image() == image && c.DeletionTimestamp == nil
	}
	const db, identity, front = "postgres:18", "quay.io/keycloak/keycloak:26.4", "nginx:1.29"
	s.kube("apply", "-f", example("cloudmanager", "sample.yaml"))
	s.until("the sample is ready", func() bool {
		return isReady() && has(kube.StatefulSets, "db", 1, db) && has(kube.Deployments, "identity", 2, identity) && has(kube.Deployments, "front", 3, front)
	})
	s.until("its Event is recorded", func() bool { return s.recorded(ns, "example", "Normal", "Ready") })
	s.order(ns)
	password := s.password(ns)

	s.patch(cloudManagers, ns, "example", `{"spec":{"db":{"replicas":3},"front":{"replicas":1}}}`)
	s.until("it is scaled", func() bool {
		set, _ := s.get(kube.StatefulSets, ns, "example-db")
		return isReady() && set.Status.ReadyReplicas == 3 && has(kube.Deployments, "front", 1, front)
	})
	if n := len(s.names(kube.PersistentVolumeClaims, ns)); n != 3 {
		s.Errorf("%d claims, want 3", n)
	}

	before, _ := s.get(kube.StatefulSets, ns, "example-db")
	s.patch(kube.StatefulSets, ns, "example-db", `{"spec":{"replicas":5}}`)
	s.patch(kube.Deployments, ns, "example-front", `{"spec":{"template":{"spec":{"containers":[{"name":"front","image":"evil"}]}}}}`)
	s.until("drift is repaired", func() bool {
		set, _ := s.get(kube.StatefulSets, ns, "example-db")
		return set.Generation == before.Generation+2 && isReady() && has(kube.StatefulSets, "db", 3, db) && has(kube.Deployments, "front", 1, front)
	})
	s.kube("delete", "deployment", "example-identity", "--wait=false")
	s.until("what was deleted is made again", func() bool {
		return s.lives(kube.Deployments, kube.Key{Namespace: ns, Name: "example-identity"}) == 2 && isReady()
	})

	s.patch(cloudManagers, ns, "example", `{"spec":{"front":null}}`)
	s.until("what is no longer named is gone", func() bool {
		_, there := s.get(kube.Deployments, ns, "example-front")
		return !there && isReady()
	})
	if s.password(ns) != password || s.lives(kube.Secrets, kube.Key{Namespace: ns, Name: "example-db"}) != 1 {
		s.Error("the password is another one")
	}

	s.kube("delete", "-f", example("cloudmanager", "sample.yaml"), "--wait=false")
	s.until("its claims and all else are gone", func() bool { return s.cloudsIn(ns) == 0 })
}

// order checks that identity was made when the db had a majority.
func (s *stage) order(ns string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	db := s.majority[kube.Key{Namespace: ns, Name: "example-db"}]
	identity, front := s.made[kube.Key{Namespace: ns, Name: "example-identity"}], s.made[kube.Key{Namespace: ns, Name: "example-front"}]
	if !identity.Newer(db) || !front.Newer(identity) {
		s.Errorf("the db was ready at %s, identity made at %s and the front at %s", db, identity, front)
	}
}

func (s *stage) password(ns string) string {
	s.Helper()
	var secret struct {
		Data map[string]string `json:"data"`
	}
	answer := setup.MustSend(s.T, s.cluster, http.MethodGet, kube.Secrets.ObjectPath(kube.Key{Namespace: ns, Name: "example-db"}), "", "")
	if err := json.Unmarshal(answer, &secret); err != nil || secret.Data["POSTGRES_PASSWORD"] == "" {
		s.Fatalf("the Secret has no password (%v)", err)
	}
	return secret.Data["POSTGRES_PASSWORD"]
}
