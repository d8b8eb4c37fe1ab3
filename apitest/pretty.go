package apitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/protojson"
)

// indented returns JSON as people read it.
func indented(b []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSuffix(b, []byte("\n")), "", "  ") != nil {
		return b
	}
	return out.Bytes()
}

// wantsIndented reports whether the answer is to be indented: where the query says
// so, and otherwise for programs that show it to people.
func wantsIndented(r *http.Request) bool {
	if v := r.URL.Query().Get("pretty"); v != "" {
		pretty, err := strconv.ParseBool(v)
		return err == nil && pretty
	}
	for _, agent := range [...]string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent(), agent) {
			return true
		}
	}
	return false
}

// takesStatus reports whether r takes an error in a form that can be had: it is no
// Table, whatever was asked for. Where none was agreed upon, it is for people.
func takesStatus(r *http.Request) bool {
	for _, c := range clauses(r) {
		if c.params == nil || c.params["as"] != "" {
			continue
		}
		switch c.typ {
		case typeJSON, typeYAML, protojson.MediaType, "*/*", "application/*":
			return true
		}
	}
	return acceptsNothing(r)
}

// prettyWriter indents an answer in JSON, or, unless all are to be, an error;
// another it lets through.
type prettyWriter struct {
	http.ResponseWriter
	all  bool
	code int
	json bool
	body bytes.Buffer
}

func (p *prettyWriter) WriteHeader(code int) {
	p.code = code
	typ, _, _ := strings.Cut(p.Header().Get("Content-Type"), ";")
	if p.json = typ == typeJSON && (p.all || code >= http.StatusBadRequest); !p.json {
		p.ResponseWriter.WriteHeader(code)
	}
}

func (p *prettyWriter) Write(b []byte) (int, error) {
	if p.code == 0 {
		p.WriteHeader(http.StatusOK)
	}
	if p.json {
		return p.body.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// finish sends what has been written.
func (p *prettyWriter) finish() {
	if !p.json {
		return
	}
	p.ResponseWriter.WriteHeader(p.code)
	p.ResponseWriter.Write(indented(p.body.Bytes())) // an error means that the client has gone
}
