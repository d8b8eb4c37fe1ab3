package recording

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestADefinitionIsNotWaitedFor: a server that does not send the definition of a custom
// resource delays its recording for seconds.
func TestADefinitionIsNotWaitedFor(t *testing.T) {
	for name, fault := range map[string]http.HandlerFunc{
		"no answer":     faults.Hang(),
		"byte for byte": faults.Trickle(1, 30*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewWith(t, apitest.Options{InMemory: true})
				srv.On(apitest.Match{Verb: "get", Resource: kube.CustomResourceDefinitions.Plural}, fault)
				c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
				if err != nil {
					t.Fatal(err)
				}
				defer c.CloseIdleConnections()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				columns, err := columnsOf(ctx, c, kube.Resource{Group: "example.com", Version: "v1", Plural: "crons", Kind: "Cron", Namespaced: true})
				if took := time.Since(began); took != patience || columns != nil || err == nil {
					t.Errorf("%v, %v after %v, want an error after %v", columns, err, took, patience)
				}
			})
		})
	}
}
