package print

import (
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// nameEncoder prints TYPE/NAME, after the event's name where events are shown.
type nameEncoder struct{ format *Format }

func (e nameEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	b = e.format.Extra.stamped(b, r)
	if e.format.Events {
		b = append(append(b, r.Type...), ' ')
	}
	if e.format.Clusters {
		b = append(append(b, printable.Cell(r.Cluster)...), ' ')
	}
	return append(append(b, printable.Cell(record.KubectlName(r.Resource, r.ID.Name))...), '\n'), nil
}

func (e nameEncoder) Flush(b []byte) []byte        { return b }
func (e nameEncoder) End(b []byte) ([]byte, error) { return b, nil }
