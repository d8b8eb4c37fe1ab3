package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/kube"
)

// TestFirstListAfterAPermission: of a type that could not be read at the start, only what
// existed then is the first state.
func TestFirstListAfterAPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true})
		srv.Put(kube.Pods, `{"metadata":{"namespace":"default","name":"before"}}`)
		time.Sleep(time.Minute)
		allow := srv.Deny("", apitest.Match{Resource: "pods"})
		ctx, stop := context.WithCancelCause(t.Context())
		var stdout bytes.Buffer
		ended := make(chan int, 1)
		p := &cli.Program{Env: func(string) string { return "" }, Stdout: &stdout, Stderr: &bytes.Buffer{}, Dial: srv.Dial,
			Args: []string{"watch", "pods,configmaps", "-s", srv.URL, "-o", "name", "--skip-initial"}}
		go func() { ended <- runCommand(ctx, p, strings.NewReader("")) }()
		time.Sleep(time.Minute)
		srv.Put(kube.Pods, `{"metadata":{"namespace":"default","name":"since"}}`)
		allow()
		time.Sleep(skipFor)
		stop(errors.New("the test is over"))
		<-ended
		if diff := cmp.Diff("pod/since\n", stdout.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
