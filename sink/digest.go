package sink

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// digest stands for a value in comparisons: two values are equal if their digests are.
type digest [sha256.Size]byte

// digestOf returns the digest of a JSON value, whose form does not matter: a database may write
// numbers in another one. A text that is not one JSON value equals only itself.
func digestOf(text json.RawMessage) digest {
	var value any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return sha256.Sum256(text)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return sha256.Sum256(text) // something follows
	}
	return sha256.Sum256(fmt.Appendf(nil, "%#v", byValue(value))) // in the order of the keys
}

func digestOfLabels(labels map[string]string) digest {
	return sha256.Sum256(fmt.Appendf(nil, "%q", labels)) // in the order of the keys
}

// byValue replaces the numbers in a decoded value by their decimals.
func byValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = byValue(v[key])
		}
	case []any:
		for i := range v {
			v[i] = byValue(v[i])
		}
	case json.Number:
		return decimalOf(v)
	}
	return value
}
