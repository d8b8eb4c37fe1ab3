package config

import (
	"runtime"
	"strings"
	"testing"
)

// TestLoadRefusesBombs: a file that is short and becomes large is an error, and takes
// little memory.
func TestLoadRefusesBombs(t *testing.T) {
	plain := one("server: https://h", full)
	long := strings.Repeat("x", 1_400_000)
	for name, tt := range map[string]struct{ text, want string }{
		"aliases in an extension": {
			"x: &x " + long + "\n" + strings.Replace(plain, "server:", "extensions: [{name: client.authentication.k8s.io/exec, extension: ["+strings.Repeat("*x,", 3000)+"]}], server:", 1),
			"its aliases expand to more than 1 MiB",
		},
		"aliases in what nobody reads": {
			"x: &x " + long + "\ny: [" + strings.Repeat("*x,", 3000) + "]\n" + plain,
			"its aliases expand to more than 1 MiB",
		},
		"elements":        {plain + "x: [" + strings.Repeat("[],", 3_000_000) + "]\n", "has more than 400000 elements"},
		"depth":           {plain + "x: " + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + "\n", "nested more than 200 levels deep"},
		"second document": {plain + "---\nx: [" + strings.Repeat("[],", 3_000_000) + "]\n", "has more than 400000 elements"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"config": tt.text})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Load(Options{Path: dir + "/config"})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir+"/config") {
				t.Errorf("error %.300v, want %s", err, tt.want)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 128 {
				t.Errorf("%d MiB were allocated", took)
			}
		})
	}
}
