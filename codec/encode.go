package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns v as JSON on one line, without a final newline. Unlike json.Marshal it
// does not escape <, > and &.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
