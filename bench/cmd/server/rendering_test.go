package main

import (
	"bytes"
	"testing"

	"github.com/listwatch/listwatch/bench/workload"
)

// What is rendered when it is sent is what is held, in the length that is told.
func TestPiecesAreTheWhole(t *testing.T) {
	pods, err := workload.ByPlural("pods")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStock(pods, workload.Form{}, 200)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.part("team-07")
	if err != nil {
		t.Fatal(err)
	}
	sent := rendering{render: s.frames.render}.slice(p.lo, p.lo+p.n)
	if held := s.frames.slice(p.lo, p.lo+p.n); !bytes.Equal(sent, held) {
		t.Errorf("rendered %d bytes that are not the %d held", len(sent), len(held))
	}
	if n := s.initialBytes(p); n != len(sent) {
		t.Errorf("%d bytes are told, %d sent", n, len(sent))
	}
	var events []byte
	for k := range 10 {
		events = s.event(events, p, k)
	}
	if n := s.eventBytes(p, 10); n != len(events) {
		t.Errorf("%d bytes of events are told, %d sent", n, len(events))
	}
}
