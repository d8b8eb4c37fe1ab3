package main

import (
	"log/slog"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// TestReadyOnceTheSinkIsOpen and all types are known, and not before.
func TestReadyOnceTheSinkIsOpen(t *testing.T) {
	s := newStage(t)
	db, err := sqlite.Open(t.Context(), s.db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := client.New(client.Config{Server: s.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	b := newBoard(slog.New(slog.DiscardHandler))
	b.start(true)
	if b.ready() == nil {
		t.Error("ready while the types are not known")
	}
	b.start(false)
	if err := b.ready(); err != nil {
		t.Errorf("without a type: %v", err)
	}
	if _, err := b.runner(sink.Options{Client: c, Sink: db, Scope: sink.Scope{Cluster: "c", Resource: kube.Pods}}); err != nil {
		t.Fatal(err)
	}
	if err := b.ready(); err == nil || err.Error() != "pods: not opened yet" {
		t.Errorf("before the sink is open: %v", err)
	}
}
