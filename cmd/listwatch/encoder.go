package main

import "github.com/listwatch/listwatch/internal/printable"

// format says how records are printed.
type format struct {
	name        string                // as -o has it; "" = the server's columns
	custom      func(*format) encoder // of a format with an expression; nil = another
	events      bool                  // the kind of event is shown
	watchEvents bool                  // expressions see the event, not only its object
	list        bool                  // objects are a list, not events
	single      bool                  // a list of one named object
	headers     bool
	kinds       bool // names are type/name
	namespaces  bool // a NAMESPACE column
	redact      bool // values of Secrets
	color       bool
	terminal    bool // stdout is one: what is for programs is escaped
	showOld     bool // ndjson has the state before
	extra       extraColumns
	diff        diffing
}

// encoder makes bytes of records. It is for one goroutine.
type encoder interface {
	// encode appends r to b, or keeps it until flush.
	encode(b []byte, r *record) ([]byte, error)
	// flush appends what was kept.
	flush(b []byte) []byte
	// end appends what closes the output.
	end(b []byte) ([]byte, error)
}

func (o *format) encoder() encoder {
	enc := o.plainEncoder()
	if _, clean := enc.(forPeople); o.terminal && !clean {
		return escaping{enc}
	}
	return enc
}

// forPeople is an encoder whose output has no control characters but ours.
type forPeople interface{ forPeople() }

func (*table) forPeople() {}

func (*diffEncoder) forPeople() {}

func (nameEncoder) forPeople() {}

func (noRows) forPeople() {}

// escaping is an encoder for programs whose output goes to a terminal.
type escaping struct{ encoder }

func (e escaping) encode(b []byte, r *record) ([]byte, error) {
	more, err := e.encoder.encode(nil, r)
	if err != nil {
		return b, err
	}
	return printable.Escape(b, more), nil
}

func (e escaping) flush(b []byte) []byte { return printable.Escape(b, e.encoder.flush(nil)) }

func (e escaping) end(b []byte) ([]byte, error) {
	more, err := e.encoder.end(nil)
	return printable.Escape(b, more), err
}

// plainEncoder is that of the format.
func (o *format) plainEncoder() encoder {
	if o.custom != nil {
		return o.custom(o)
	}
	switch o.name {
	case "ndjson":
		return &ndjsonEncoder{format: o, past: o.past()}
	case "diff":
		return &diffEncoder{format: o, past: o.past()}
	case "json":
		return &jsonEncoder{format: o}
	case "yaml":
		return &yamlEncoder{format: o}
	case "name":
		return nameEncoder{o}
	case "none":
		return noRows{}
	}
	return newTable(o)
}

// noRows is the encoder of -o none, for those who want hooks or an exit code only.
type noRows struct{}

func (noRows) encode(b []byte, _ *record) ([]byte, error) { return b, nil }

func (noRows) flush(b []byte) []byte { return b }

func (noRows) end(b []byte) ([]byte, error) { return b, nil }
