package hide

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestErrorWithoutCredentials(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"bad sesame and open/up", "bad (hidden) and (hidden): EOF"},
		{"bad open%2Fup", "bad (hidden): EOF"},
		{`bad "tab\there"`, `bad "(hidden)": EOF`},
		{"bad abc", "bad abc: EOF"},
	} {
		err := Error(fmt.Errorf("%s: %w", tt.text, io.EOF), "", "abc", "sesame", "open/up", "tab\there")
		if err.Error() != tt.want || !errors.Is(err, io.EOF) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if err := Error(nil, "sesame"); err != nil {
		t.Error(err)
	}
}
