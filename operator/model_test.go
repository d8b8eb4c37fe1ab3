package operator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/operator"
)

// Whatever others do, and whatever fails: in the end the children are as desired, what
// belongs to others was never changed, a password was written once, and nothing is sent.
func TestModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			run(t, func(w *world) { w.model(rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func (w *world) model(r *rand.Rand) {
	w.work = func(ctx context.Context, s shop) error {
		taken := false
		_, err := w.maps.Create(ctx, s, fmt.Sprintf(`{"data":{"password":"%d"}}`, w.runs.Load()))
		if errors.Is(err, operator.ErrForeign) {
			taken, err = true, nil
		}
		if err == nil {
			_, err = w.services.Apply(ctx, s, map[string]any{"spec": map[string]any{"ports": []map[string]any{{"name": "p", "port": s.Spec.Ports[0]}}}})
		}
		if errors.Is(err, operator.ErrForeign) {
			taken, err = true, nil
		}
		if err == nil {
			_, err = w.budgets.Apply(ctx, s, map[string]any{"spec": map[string]any{"maxUnavailable": s.Spec.Ports[0]}})
		}
		if errors.Is(err, operator.ErrForeign) {
			taken, err = true, nil
		}
		if err != nil {
			return err
		}
		return w.shops.PatchStatus(ctx, s, func(s *shop) {
			if s.Status.Problem = ""; taken {
				s.Status.Problem = "foreign"
			}
		})
	}
	keys := []kube.Key{x, {Namespace: "a", Name: "y"}, {Namespace: "b", Name: "x"}}
	foreign := map[string]string{}  // the children of others, as they are
	password := map[string]string{} // by the UIDs of the ConfigMaps
	id := func(res kube.Resource, k kube.Key) string { return res.Plural + " " + k.String() }
	read := func(res kube.Resource, k kube.Key) string {
		b := w.Get(res, k)
		if b == nil {
			return ""
		}
		raw, err := codec.ParseRaw(b)
		if err != nil {
			w.Fatal(err)
		}
		return raw.JSON()
	}
	others := []kube.Resource{kube.ConfigMaps, kube.Services, budgets}
	made := map[string]string{
		"configmaps":           `{"metadata":{"namespace":"%s","name":"%s"},"data":{"theirs":"x"}}`,
		"services":             `{"metadata":{"namespace":"%s","name":"%s"},"spec":{"ports":[{"port":7}]}}`,
		"poddisruptionbudgets": `{"metadata":{"namespace":"%s","name":"%s"},"spec":{"minAvailable":7}}`,
	}
	all := client.Of[shop](w.client, shops)
	check := func() {
		for _, res := range others {
			for _, k := range keys {
				now := read(res, k)
				if was := foreign[id(res, k)]; was != "" && now != was {
					w.Errorf("changed: %s\n%s\n%s", id(res, k), was, now)
					foreign[id(res, k)] = now
				}
			}
		}
		for _, m := range apitest.Objects[passwords](w.Server, kube.ConfigMaps) {
			p := m.Data["password"]
			if was, ok := password[m.UID]; ok && was != p {
				w.Errorf("password %q of %s was %q", p, m.Name, was)
			}
			password[m.UID] = p
		}
	}
	step := func() {
		k, res := keys[r.IntN(len(keys))], others[r.IntN(3)]
		switch r.IntN(9) {
		case 0, 1:
			s := shop{Meta: kube.Meta{Namespace: k.Namespace, Name: k.Name}}
			s.Spec.Ports = []int{80 + r.IntN(9)}
			if _, err := all.Create(w.Context(), s); err == nil {
				return
			}
			_, _ = all.Patch(w.Context(), k, client.MergePatch, fmt.Sprintf(`{"spec":{"ports":[%d]}}`, 80+r.IntN(9)))
		case 2:
			_ = all.Delete(w.Context(), k, client.DeleteOptions{})
		case 3: // somebody deletes a child, or what is foreign
			w.Server.Delete(res, k)
			delete(foreign, id(res, k))
		case 4: // a child is replaced by one of others
			w.Server.Delete(res, k)
			w.Put(res, fmt.Sprintf(made[res.Plural], k.Namespace, k.Name))
			foreign[id(res, k)] = read(res, k)
		case 5: // drift
			if foreign[id(res, k)] != "" {
				return
			}
			patch := map[string]string{"services": `{"spec":{"ports":[{"name":"p","port":1}]}}`, "poddisruptionbudgets": `{"spec":{"maxUnavailable":1},"metadata":{"labels":{"a":"b"}}}`, "configmaps": `{"metadata":{"labels":{"a":"b"}}}`}[res.Plural]
			_, _ = client.Of[codec.Raw](w.client, res).Patch(w.Context(), k, client.MergePatch, patch)
		case 6: // a child is released
			now := read(res, k)
			if now == "" || !strings.Contains(now, "ownerReferences") {
				return
			}
			if _, err := client.Of[codec.Raw](w.client, res).Patch(w.Context(), k, client.MergePatch, `{"metadata":{"ownerReferences":null}}`); err == nil {
				foreign[id(res, k)] = read(res, k)
			}
		case 7:
			fault := []http.HandlerFunc{faults.Reset(), faults.Answer(apitest.StatusInternal("no")), faults.Answer(apitest.StatusThrottled(1)), lost}[r.IntN(4)]
			w.On(apitest.Match{Verb: []string{"patch", "get", "watch", "list", "delete"}[r.IntN(5)], UserAgent: ""}, fault).Times(1 + r.IntN(2))
		case 8:
			w.On(apitest.Match{Verb: "watch", Resource: res.Plural, AfterEvent: 1}, faults.Reset()).Times(1)
		}
	}
	for range 12 {
		stop := w.operate()
		for range 15 {
			step()
			check()
			<-time.After(time.Duration(r.IntN(3)) * time.Duration(r.IntN(2000)) * time.Millisecond)
			check()
		}
		stop()
		check()
	}
	defer w.operate()()
	<-time.After(time.Hour) // faults are used up
	check()
	w.ForgetRequests()
	<-time.After(time.Hour)
	w.wrote()
	for _, k := range keys {
		o, ok := apitest.Object[shop](w.Server, shops, k)
		taken := false
		for _, res := range others {
			now := read(res, k)
			switch f := foreign[id(res, k)]; {
			case f != "":
				taken = true
			case ok != (now != ""):
				w.Errorf("%s: %q, owner %v", id(res, k), now, ok)
			case ok && res == kube.Services && !strings.Contains(now, fmt.Sprintf(`"port":%d,`, o.Spec.Ports[0])), ok && res == budgets && !strings.Contains(now, fmt.Sprintf(`"maxUnavailable":%d`, o.Spec.Ports[0])):
				w.Errorf("%s: %s, wants %d", id(res, k), now, o.Spec.Ports[0])
			}
		}
		if ok && taken != (o.Status.Problem == "foreign") {
			w.Errorf("%s: taken %v, problem %q", k, taken, o.Status.Problem)
		}
	}
}

// lost answers nothing to a request that the server has handled.
func lost(_ http.ResponseWriter, r *http.Request) {
	x := apitest.ExchangeOf(r)
	apitest.Continue(nowhere{http.Header{}}, r)
	x.Abort()
}

type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}

type passwords struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data"`
}
