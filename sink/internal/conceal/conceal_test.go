package conceal_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/listwatch/listwatch/sink/internal/conceal"
)

func TestError(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"bad sesame and open/up", "bad (hidden) and (hidden): EOF"},
		{"bad open%2Fup", "bad (hidden): EOF"},
		{`bad "tab\there"`, `bad "(hidden)": EOF`},
		{"bad abc", "bad abc: EOF"},
	} {
		err := conceal.Error(fmt.Errorf("%s: %w", tt.text, io.EOF), "", "abc", "sesame", "open/up", "tab\there")
		if err.Error() != tt.want || !errors.Is(err, io.EOF) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if err := conceal.Error(nil, "sesame"); err != nil {
		t.Error(err)
	}
}
