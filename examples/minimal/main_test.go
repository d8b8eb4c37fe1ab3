package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// leaver cancels the watch once it is synced.
type leaver struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (l *leaver) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("SYNCED")) {
		b = []byte("SYNCED\n") // without the revision
		l.cancel()
	}
	return l.Buffer.Write(b)
}

func TestRun(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"b"},"data":{"k":"v"}}`})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, failures := &leaver{cancel: cancel}, &bytes.Buffer{}
	err := run(ctx, client.Config{Server: srv.URL}, out, failures)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
	if diff := cmp.Diff("RESTART \nADDED a/b 1 keys\nSYNCED\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
