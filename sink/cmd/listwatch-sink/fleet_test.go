package main

import (
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// define makes a type of the group example.com, with an object of it.
func (s *stage) define(plural, kind, object string) kube.Resource {
	s.t.Helper()
	s.serveType(plural, kind, "v1")
	r := kube.Resource{Group: "example.com", Version: "v1", Plural: plural, Kind: kind, Namespaced: true}
	s.put(r, object, "")
	return r
}

// held returns the rows and the history of the group example.com.
func (s *stage) held() []string {
	s.t.Helper()
	return append(s.query(`SELECT 'row '||resource||' '||name FROM objects WHERE api_group = 'example.com' ORDER BY 1`),
		s.query(`SELECT type||' '||resource||' '||coalesce(name,'') FROM history WHERE api_group = 'example.com' ORDER BY seq`)...)
}

// loading waits until the position of a type says that it is not served.
func (s *stage) loading(plural string) {
	s.t.Helper()
	for limit := time.Now().Add(time.Minute); len(s.query(`SELECT 1 FROM positions WHERE phase = 'LOADING' AND resource = '`+plural+`'`)) == 0; {
		if time.Now().After(limit) {
			s.t.Fatalf("the rows of %s are not deleted", plural)
		}
	}
}

// TestEveryTypeComesAndGoes: '*' moves definitions that come later, and deletes the rows of
// those that go, also while nobody runs.
func TestEveryTypeComesAndGoes(t *testing.T) {
	s := newStage(t)
	s.define("widgets", "Widget", "w")
	errs, stop := s.start("*")
	errs.wait(t, "scope=widgets.example.com phase=LIVE", 1)
	s.define("gadgets", "Gadget", "g")
	errs.wait(t, "scope=gadgets.example.com phase=LIVE", 1)
	s.server.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "gadgets.example.com"})
	errs.wait(t, "rows are deleted.*gadgets.example.com", 1)
	s.loading("gadgets")
	stop()
	s.server.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"})
	if code, out, errs := s.run("verify", "--wait", "0"); !strings.Contains(out, "widgets.example.com shop/w: the cluster does not serve the type") {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	errs, stop = s.start("*")
	errs.wait(t, "rows are deleted.*widgets.example.com", 1)
	s.loading("widgets")
	s.define("widgets", "Widget", "new")
	errs.wait(t, "scope=widgets.example.com phase=LIVE", 1)
	if code, out, errs := s.run("verify", "widgets.example.com"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	stop()
	want := []string{"row widgets new", "ADDED widgets w", "ADDED gadgets g", "DELETED gadgets g", "DELETED widgets w", "ADDED widgets new", "GAP widgets "}
	if diff := cmp.Diff(want, s.held()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// startInDoubt starts '*' while the server cannot say, until fault is removed, whether a
// definition exists. It returns once the server was asked twice.
func (s *stage) startInDoubt() (errs *console, stop func() int, fault *apitest.Fault) {
	s.t.Helper()
	fault = s.server.On(apitest.Match{Verb: "get", Resource: kube.CustomResourceDefinitions.GroupResource()}, faults.Answer(&kube.Status{Code: http.StatusServiceUnavailable}))
	errs, stop = s.start("*")
	for limit := time.Now().Add(time.Minute); fault.Hits() < 2; {
		if time.Now().After(limit) {
			s.t.Fatalf("the definition was asked for %d times", fault.Hits())
		}
	}
	return errs, stop, fault
}

// storeTypeThatGoes stores a widget, and deletes its definition when no process runs.
func (s *stage) storeTypeThatGoes() {
	s.t.Helper()
	s.define("widgets", "Widget", "w")
	errs, stop := s.start("*")
	errs.wait(s.t, "scope=widgets.example.com phase=LIVE", 1)
	stop()
	s.server.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"})
}

// TestRowsGoOnceThatIsCertain: at the start the server cannot say whether the definition exists,
// and later it can.
func TestRowsGoOnceThatIsCertain(t *testing.T) {
	s := newStage(t)
	s.storeTypeThatGoes()
	errs, stop, fault := s.startInDoubt()
	if got := s.held(); len(got) != 2 {
		t.Errorf("while nobody knows: %q", got)
	}
	fault.Remove()
	errs.wait(t, "rows are deleted.*widgets.example.com", 1)
	s.loading("widgets")
	stop()
	if diff := cmp.Diff([]string{"ADDED widgets w", "DELETED widgets w"}, s.held()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInterruptedDropGoesOnOnceThatIsCertain: a kill has left rows of a type that its position
// calls dropped, and at the start the server cannot say whether the definition exists.
func TestInterruptedDropGoesOnOnceThatIsCertain(t *testing.T) {
	s := newStage(t)
	s.storeTypeThatGoes()
	s.query(`UPDATE positions SET phase = 'LOADING', cause = '` + sink.CauseNotServed + `' WHERE resource = 'widgets' RETURNING 1`)
	errs, stop, fault := s.startInDoubt()
	fault.Remove()
	s.rows(errs, 0)
	stop()
	if diff := cmp.Diff([]string{"ADDED widgets w", "DELETED widgets w"}, s.held()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTypesThatAreGoneAreDroppedOnce: one that was never listed, and one of whose shards this
// process moves none, are no reason to ask the server again and again.
func TestTypesThatAreGoneAreDroppedOnce(t *testing.T) {
	for name, args := range map[string][]string{"never listed": {"*"}, "of another shard": {"*", "--shards", "2", "--shard", "1"}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.define("widgets", "Widget", "w")
			if name == "never listed" {
				s.server.On(apitest.Match{Verb: "list", Resource: "widgets.example.com"}, faults.Answer(&kube.Status{Code: http.StatusServiceUnavailable}))
			} else {
				errs, stop := s.start("*", "--shards", "2", "--shard", "0")
				errs.wait(t, `scope="?widgets.example.com.* phase=LIVE`, 1)
				stop()
			}
			errs, stop := s.start(args...)
			errs.wait(t, `scope="?configmaps.* phase=LIVE`, 1)
			s.server.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"})
			errs.wait(t, "rows are deleted.*widgets.example.com", 1)
			s.define("gadgets", "Gadget", "g") // the server is asked again
			errs.wait(t, `scope="?gadgets.example.com.* phase=LIVE`, 1)
			s.server.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "gadgets.example.com"})
			text := errs.wait(t, "rows are deleted.*gadgets.example.com", 1)
			stop()
			if n := len(regexp.MustCompile("rows are deleted.*widgets.example.com").FindAllString(text, -1)); n != 1 {
				t.Errorf("%d times:\n%s", n, text)
			}
		})
	}
}

// TestClusterScopedTypesGoWithANamespace: their rows have another selection than -n says.
func TestClusterScopedTypesGoWithANamespace(t *testing.T) {
	s := newStage(t)
	definition := `{"metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	s.server.Put(kube.CustomResourceDefinitions, definition)
	s.server.Put(kube.Resource{Group: "example.com", Version: "v1", Plural: "things", Kind: "Thing"}, `{"metadata":{"name":"a"}}`)
	errs, stop := s.start("*", "-n", "shop")
	errs.wait(t, "scope=things.example.com phase=LIVE", 1)
	stop()
	s.server.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "things.example.com"})
	for range 2 { // what was dropped does not end the next start either
		errs, stop = s.start("*", "-n", "shop")
		s.rows(errs, 0)
		errs.wait(t, "scope=configmaps phase=LIVE", 1)
		if code := stop(); code != exitOK {
			t.Errorf("exit code %d\n%s", code, errs)
		}
	}
	if diff := cmp.Diff([]string{"ADDED things a", "DELETED things a"}, s.held()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTypesAboveTheLimitAreLogged, and are not silently left out.
func TestTypesAboveTheLimitAreLogged(t *testing.T) {
	errs := newConsole()
	f := &fleet{p: &program{maxTypes: 1, log: slog.New(slog.NewTextHandler(errs, nil))}, failed: map[string]failure{}, running: map[string]*tenant{"pods": {}}}
	for range 2 {
		f.start(t.Context(), kube.ConfigMaps, false)
	}
	if n := len(regexp.MustCompile(`a type of '\*' is not moved.*type=configmaps.*1 types are moved, which is the limit`).FindAllString(errs.String(), -1)); n != 1 || len(f.running) != 1 {
		t.Errorf("%d lines, want 1, and %d types run\n%s", n, len(f.running), errs)
	}
}

// TestRefusedTypeEndsNoOther: one of '*' is left out, and one that was named is tried
// again, while the program is not ready and says why.
func TestRefusedTypeEndsNoOther(t *testing.T) {
	s := newStage(t)
	allow := s.server.Deny("", apitest.Match{Resource: "configmaps"})
	s.put(kube.Pods, "web-0", webPod)
	errs, stop := s.start("*", "--listen", "127.0.0.1:0")
	errs.wait(t, "a type of '[*]' is not moved.*type=configmaps .*forbidden", 1)
	errs.wait(t, "scope=pods phase=LIVE", 1)
	s.ready(errs, func(code int, _ string) bool { return code == http.StatusOK })
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	errs, _ = s.start("pods,cm", "--listen", "127.0.0.1:0")
	errs.wait(t, "nothing comes from the server.*scope=configmaps.*forbidden", 1)
	s.ready(errs, func(code int, text string) bool {
		return code == http.StatusServiceUnavailable && strings.Contains(text, "configmaps") && strings.Contains(text, "forbidden")
	})
	allow()
	errs.wait(t, "scope=configmaps phase=LIVE", 1)
	s.ready(errs, func(code int, _ string) bool { return code == http.StatusOK })
}

// ready asks for /readyz until it answers what is wanted.
func (s *stage) ready(errs *console, want func(code int, text string) bool) {
	s.t.Helper()
	address := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(errs.wait(s.t, `address=\S+`, 1))[1]
	for limit := time.Now().Add(time.Minute); ; {
		resp, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			s.t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		if want(resp.StatusCode, string(b)) {
			return
		}
		if time.Now().After(limit) {
			s.t.Fatalf("/readyz: %d %s", resp.StatusCode, b)
		}
	}
}
