package print

import (
	"slices"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// Format says how records are printed.
type Format struct {
	Ended <-chan struct{} // closed when expressions end without a result; see jq.Ended. nil = never

	Name        string                // as -o has it; "" = the server's columns
	Custom      func(*Format) Encoder // of a format with an expression; nil = another
	Events      bool                  // the kind of event is shown
	WatchEvents bool                  // expressions see the event, not only its object
	List        bool                  // objects are a list, not events
	Single      bool                  // a list of one named object
	Headers     bool
	Kinds       bool // names are type/name
	Namespaces  bool // a NAMESPACE column
	Clusters    bool // a CLUSTER column
	Redact      bool // values of Secrets
	Color       bool
	Terminal    bool // stdout is one: what is for programs is escaped
	ShowOld     bool // ndjson has the state before
	Extra       extraColumns
	Diff        Diffing
}

// Encoder makes bytes of records. It is for one goroutine.
type Encoder interface {
	// Encode appends r to b, or keeps it until Flush.
	Encode(b []byte, r *record.Record) ([]byte, error)
	// Flush appends what was kept.
	Flush(b []byte) []byte
	// End appends what closes the output.
	End(b []byte) ([]byte, error)
}

func (o *Format) Encoder() Encoder {
	enc := o.plainEncoder()
	if _, clean := enc.(forPeople); o.Terminal && !clean {
		return escaping{enc}
	}
	return enc
}

// forPeople is an encoder whose output has no control characters but ours.
type forPeople interface{ ForPeople() }

func (*Table) ForPeople() {}

func (*diffEncoder) ForPeople() {}

func (nameEncoder) ForPeople() {}

func (noRows) ForPeople() {}

// escaping is an encoder for programs whose output goes to a terminal.
type escaping struct{ Encoder }

func (e escaping) Encode(b []byte, r *record.Record) ([]byte, error) {
	more, err := e.Encoder.Encode(nil, r)
	if err != nil {
		return b, err
	}
	return printable.Escape(b, more), nil
}

func (e escaping) Flush(b []byte) []byte { return printable.Escape(b, e.Encoder.Flush(nil)) }

func (e escaping) End(b []byte) ([]byte, error) {
	more, err := e.Encoder.End(nil)
	return printable.Escape(b, more), err
}

// plainEncoder is that of the format.
func (o *Format) plainEncoder() Encoder {
	if o.Custom != nil {
		return o.Custom(o)
	}
	if i := slices.IndexFunc(formats, func(f format) bool { return f.name == o.Name }); i >= 0 {
		return formats[i].encoder(o)
	}
	return NewTable(o)
}

// noRows is the encoder of -o none, for runs that need only hooks or an exit code.
type noRows struct{}

func (noRows) Encode(b []byte, _ *record.Record) ([]byte, error) { return b, nil }

func (noRows) Flush(b []byte) []byte { return b }

func (noRows) End(b []byte) ([]byte, error) { return b, nil }
