package row

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/secret"
)

// Redact replaces the values of a Secret by a mark, which differs where the value does, and
// which only who has the salt can make.
func Redact(o codec.Raw, salt []byte) (codec.Raw, error) {
	var m map[string]any
	if err := o.Decode(&m); err != nil {
		return o, err
	}
	secret.Replace(m, func(key string, value any) string {
		mac := hmac.New(sha256.New, salt)
		fmt.Fprintf(mac, "%s\x00%s\x00%v", o.GetUID(), key, value)
		return fmt.Sprintf("[redacted #%x]", mac.Sum(nil)[:2])
	})
	b, err := codec.Encode(m)
	if err != nil {
		return o, err
	}
	return codec.ParseRaw(b)
}
