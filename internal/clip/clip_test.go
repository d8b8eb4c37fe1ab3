package clip_test

import (
	"testing"

	"github.com/listwatch/listwatch/internal/clip"
)

func TestText(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"aéé", 3, "aé..."},
		{"aéé", 4, "aé..."},
		{"é", 1, "..."},
		{"\x80\x80", 1, "..."},
	} {
		if got := clip.Text(tt.text, tt.most); got != tt.want {
			t.Errorf("Text(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}
