package row

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/secret"
)

// Redact replaces the values of a Secret by marks, which only who has the salt can make. Those
// of one key of Secrets of one name are equal where the values are, also if the Secret was
// created again; marks of different keys or Secrets do not say whether their values are equal.
func Redact(o codec.Raw, salt []byte) (codec.Raw, error) {
	var m map[string]any
	if err := o.Decode(&m); err != nil {
		return o, err
	}
	secret.Replace(m, func(key string, value any) string {
		if value == secret.Placeholder { // of a recording, which does not have it
			return secret.Placeholder
		}
		mac := hmac.New(sha256.New, salt)
		fmt.Fprintf(mac, "%s\x00%s\x00%s\x00%v", o.GetNamespace(), o.GetName(), key, value)
		return fmt.Sprintf("[redacted #%x]", mac.Sum(nil)[:4])
	})
	b, err := codec.Encode(m)
	if err != nil {
		return o, err
	}
	return codec.ParseRaw(b)
}
