package crd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// yamlOf converts JSON to YAML in block style, in the order of its members. Every string
// that YAML could read in another way is quoted as in JSON, which YAML reads as the same.
func yamlOf(b []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	w := yamlWriter{dec: dec}
	if err := w.value(0, false); err != nil && err != io.EOF {
		return nil, fmt.Errorf("convert to YAML: %w", err)
	}
	return w.out.Bytes(), nil
}

type yamlWriter struct {
	dec *json.Decoder
	out bytes.Buffer
}

// value writes the next value. inList says that the line has begun with "- ".
func (w *yamlWriter) value(indent int, inList bool) error {
	t, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return w.object(indent, inList)
	case json.Delim('['):
		return w.list(indent, inList)
	}
	w.out.WriteString(" " + scalarOf(t) + "\n")
	return nil
}

func (w *yamlWriter) object(indent int, inList bool) error {
	if !w.dec.More() {
		w.out.WriteString(" {}\n")
		_, err := w.dec.Token()
		return err
	}
	for first := true; w.dec.More(); first = false {
		t, err := w.dec.Token()
		if err != nil {
			return err
		}
		switch {
		case first && inList:
			w.out.WriteByte(' ')
		case first && indent > 0:
			w.out.WriteByte('\n')
			fallthrough
		default:
			w.out.WriteString(strings.Repeat("  ", indent))
		}
		w.out.WriteString(scalarOf(t) + ":")
		if err := w.value(indent+1, false); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

// list writes its elements in the column of the member's name, as kubectl does.
func (w *yamlWriter) list(indent int, inList bool) error {
	if !w.dec.More() {
		w.out.WriteString(" []\n")
		_, err := w.dec.Token()
		return err
	}
	if !inList {
		indent--
	}
	for first := true; w.dec.More(); first = false {
		switch {
		case first && inList:
			w.out.WriteString(" -")
		case first:
			w.out.WriteByte('\n')
			fallthrough
		default:
			w.out.WriteString(strings.Repeat("  ", indent) + "-")
		}
		if err := w.value(indent+1, true); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

var (
	plainText = regexp.MustCompile(`^(\.?[A-Za-z]|/)[A-Za-z0-9._/ ()-]*$`)
	ambiguous = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|y|n|null|\.inf|\.nan)$| $`)
)

func scalarOf(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(t)
	case string:
		if plainText.MatchString(t) && !ambiguous.MatchString(t) {
			return t
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(t) // of a string, into memory
		return strings.TrimSuffix(b.String(), "\n")
	default:
		return fmt.Sprint(t)
	}
}
