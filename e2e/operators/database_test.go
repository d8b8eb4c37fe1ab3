package operators_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/kube"
)

// childrenOfDatabases are what the operator makes for each Database.
var childrenOfDatabases = []kube.Resource{kube.Secrets, kube.Services, budgets, kube.StatefulSets}

func (s *stage) database() {
	config, token := s.serviceKubeconfig("database")
	s.forbidden(token, "POST", kube.ConfigMaps.Path("default"), `{"metadata":{"name":"no"}}`)
	s.forbidden(token, "DELETE", databases.ObjectPath(kube.Key{Namespace: "default", Name: "example"}), "")
	s.forbidden(token, "DELETE", kube.Secrets.ObjectPath(kube.Key{Namespace: "default", Name: "no"}), "")
	port, hosts := balance(s.T, "127.0.0.2", "127.0.0.3")
	var args [][]string
	for _, host := range hosts {
		args = append(args, []string{"--webhook-url", "https://127.0.0.1:" + port, "--webhook-listen", net.JoinHostPort(host, port)})
	}
	printed := (&setup.Program{Home: s.TempDir()}).Output(s.T, setup.BuildAsTest(s.T, "../..", "./examples/database"),
		append([]string{"--kubeconfig", config, "--print"}, args[0]...)...)
	file := filepath.Join(s.TempDir(), "printed.yaml")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		s.Fatal(err)
	}
	s.kube("apply", "-f", file)
	first, second, holder := s.lead("database", config, args...)
	s.databaseLife()

	ns := s.namespace("many-databases")
	var names []string
	for i := range many {
		name := fmt.Sprintf("d%03d", i)
		names = append(names, name)
		s.create(databases, ns, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Database","metadata":{"name":%q},
			"spec":{"image":"postgres:18","replicas":1,"storage":{"size":"1Gi"}}}`, name))
	}
	s.turmoil("database", first, second, holder, func() int { return len(s.names(kube.StatefulSets, ns)) }, many)
	s.progress("all Databases are ready", func() int {
		left := many
		for _, name := range s.names(databases, ns) {
			if o, _ := s.get(databases, ns, name); o.ready() == "True Available" && o.Status.ReadyReplicas == 1 {
				left--
			}
		}
		return left
	})
	for _, r := range childrenOfDatabases {
		s.exactly(r, ns, names)
	}
	s.deleteAll(databases, ns)
	s.progress("nothing of the Databases is left", func() int { return s.databasesIn(ns) })
	second.stop()
	first.stop()
}

// databasesIn counts what there is of Databases.
func (s *stage) databasesIn(ns string) int {
	n := 0
	for _, r := range append([]kube.Resource{databases, kube.Pods, kube.PersistentVolumeClaims}, childrenOfDatabases...) {
		for _, name := range s.names(r, ns) {
			if r != kube.Services || name != "kubernetes" {
				n++
			}
		}
	}
	return n
}

// databaseLife is one Database, from its creation to its end.
func (s *stage) databaseLife() {
	const ns = "default"
	is := func(name, want string, replicas int) func() bool {
		return func() bool {
			o, _ := s.get(databases, ns, name)
			return o.ready() == want && o.Status.ReadyReplicas == replicas
		}
	}
	isReady := is("example", "True Available", 3)
	s.kube("apply", "-f", example("database", "sample.yaml"))
	s.until("the sample is ready", isReady)
	s.until("its Event is recorded", func() bool { return s.recorded(ns, "example", "Normal", "Synced") })
	if n := len(s.names(kube.PersistentVolumeClaims, ns)); n != 3 {
		s.Errorf("%d claims, want 3", n)
	}

	// The API server converts, in both directions.
	s.until("the former version is served", func() bool {
		return strings.Contains(s.kube("get", "databases.v1alpha1.example.com", "example", "-o", "jsonpath={.spec}"), `"instances":3`)
	})
	setup.MustSend(s.T, s.cluster, http.MethodPost, kube.Resource{Group: "example.com", Version: "v1alpha1", Plural: "databases", Namespaced: true}.Path(ns), "application/json",
		`{"apiVersion":"example.com/v1alpha1","kind":"Database","metadata":{"name":"former"},"spec":{"image":"postgres:17","instances":2,"storage":"1Gi"}}`)
	s.until("one of the former version is ready", is("former", "True Available", 2))

	before, _ := s.get(kube.StatefulSets, ns, "example")
	s.kube("patch", "configmap", "example-settings", "--patch", `{"data":{"max_connections":"200"}}`)
	s.until("another configuration restarts the Pods", func() bool {
		set, _ := s.get(kube.StatefulSets, ns, "example")
		return set.Generation == before.Generation+1 && isReady()
	})
	s.patch(kube.StatefulSets, ns, "example", `{"spec":{"replicas":5}}`)
	s.until("drift is repaired", func() bool {
		set, _ := s.get(kube.StatefulSets, ns, "example")
		return set.Generation == before.Generation+3 && set.Spec.Replicas == 3 && isReady()
	})
	s.kube("delete", "pdb", "example", "--wait=false")
	s.until("a deleted child is made again", func() bool { return s.lives(budgets, kube.Key{Namespace: ns, Name: "example"}) == 2 })

	s.kube("create", "service", "clusterip", "taken", "--tcp=80")
	s.create(databases, ns, `{"apiVersion":"example.com/v1","kind":"Database","metadata":{"name":"taken"},"spec":{"image":"a","storage":{"size":"1Gi"}}}`)
	s.until("what is somebody else's is refused", is("taken", "False NameTaken", 0))
	s.create(databases, ns, `{"apiVersion":"example.com/v1","kind":"Database","metadata":{"name":"bare"},"spec":{"image":"a","config":"no","storage":{"size":"1Gi"}}}`)
	s.until("a missing ConfigMap is reported", is("bare", "False ConfigMissing", 0))

	_, err := setup.Send(s.Context(), s.cluster, http.MethodDelete, databases.ObjectPath(kube.Key{Namespace: ns, Name: "example"}), "", "")
	if err == nil || !strings.Contains(err.Error(), "before you delete the Database") {
		s.Errorf("deletion of a protected Database: %v", err)
	}
	s.patch(databases, ns, "example", `{"spec":{"protect":false}}`)
	s.kube("delete", "databases", "--all", "--wait=false")
	s.kube("delete", "service", "taken", "--wait=false")
	s.until("claims and all else are gone", func() bool { return s.databasesIn(ns) == 0 })
}

// balance returns a port of 127.0.0.1 whose connections go to the first of hosts that
// listens at it.
func balance(t *testing.T, hosts ...string) (port string, _ []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { join(c, port, hosts) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return port, hosts
}

// join copies in both directions until one side ends.
func join(c net.Conn, port string, hosts []string) {
	defer c.Close()
	for _, host := range hosts {
		d, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err != nil {
			continue
		}
		done := make(chan struct{})
		go func() { _, _ = io.Copy(d, c); d.Close(); close(done) }()
		_, _ = io.Copy(c, d)
		c.Close()
		<-done
		return
	}
}
