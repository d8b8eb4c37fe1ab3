package crd_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

// TestEnsureWaitsForTheNamesThatItApplied: the conditions of a definition whose names were
// changed are about the former names, until the server has checked the new ones.
func TestEnsureWaitsForTheNamesThatItApplied(t *testing.T) {
	const accepted, refused = `{"type":"NamesAccepted","status":"True"}`, `{"type":"NamesAccepted","status":"False","reason":"ShortNamesConflict","message":"\"bb\" is already in use"}`
	taken := &crd.NamesError{Definition: "lamps.example.com", Reason: "ShortNamesConflict", Message: `"bb" is already in use`}
	for _, tt := range []struct {
		name  string
		first string // NamesAccepted before the server has checked
		then  string // and 3 s later
		names string // that are accepted then
		took  time.Duration
		want  *crd.NamesError
	}{
		{"accepted, and accepted again", accepted, accepted, "bb", 3 * time.Second, nil},
		{"accepted, and refused", accepted, refused, "lp", 8 * time.Second, taken},
		{"refused, and accepted", refused, accepted, "bb", 3 * time.Second, nil},
		{"refused, and still refused", refused, refused, "lp", 5 * time.Second, taken},
		{"refused for names that were not accepted", refused, refused, "bb", 3 * time.Second, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewInMemory(t)
				c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
				if err != nil {
					t.Fatal(err)
				}
				defer c.CloseIdleConnections()
				type lamp struct {
					kube.Meta `json:"metadata"`
				}
				d, err := crd.Of[lamp](kube.Resource{Group: "example.com", Version: "v1", Plural: "lamps", Kind: "Lamp", Namespaced: true}, crd.Options{ShortNames: []string{"bb"}})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				state := func(names, condition string) string {
					const all = `{"plural":"lamps","singular":"lamp","kind":"Lamp","listKind":"LampList","shortNames":["%s"]}`
					return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"lamps.example.com","uid":"u","resourceVersion":"7"},"spec":{"versions":[{"name":"v1","served":true}],"names":`+
						all+`},"status":{"acceptedNames":`+all+`,"conditions":[%s,{"type":"Established","status":"True"}]}}`, "bb", names, condition)
				}
				srv.On(apitest.Match{Verb: "watch", Resource: "customresourcedefinitions"}, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", state("lp", tt.first))
					fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
					_ = http.NewResponseController(w).Flush()
					<-time.After(time.Until(began.Add(3 * time.Second)))
					fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", strings.Replace(state(tt.names, tt.then), `"resourceVersion":"7"`, `"resourceVersion":"8"`, 1))
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err = crd.Ensure(ctx, c, crd.EnsureOptions{}, d)
				var got *crd.NamesError
				if errors.As(err, &got); err != nil && got == nil {
					t.Error(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if took := time.Since(began).Round(time.Second); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
			})
		})
	}
}
