package main

import "github.com/listwatch/listwatch/internal/printable"

// nameEncoder prints TYPE/NAME, after the event's name where events are shown.
type nameEncoder struct{ format *format }

func (e nameEncoder) encode(b []byte, r *record) ([]byte, error) {
	b = e.format.extra.stamped(b, r)
	if e.format.events {
		b = append(append(b, r.Type...), ' ')
	}
	return append(append(b, printable.Cell(kubectlName(r.resource, r.id.Name))...), '\n'), nil
}

func (e nameEncoder) flush(b []byte) []byte        { return b }
func (e nameEncoder) end(b []byte) ([]byte, error) { return b, nil }
