package uid_test

import (
	"testing"

	"github.com/listwatch/listwatch/internal/uid"
)

type plain struct{ uid string }

func (p plain) GetUID() string { return p.uid }

type pointed struct{ uid string }

func (p *pointed) GetUID() string { return p.uid }

type none struct{}

func TestOf(t *testing.T) {
	value, pointer, byPointer, absent := plain{"u"}, &plain{"u"}, &pointed{"u"}, none{}
	var inside, nothing any = value, absent
	check := func(name, got string, ok bool, want string) {
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t; want %q", name, got, ok, want)
		}
	}
	u, ok := uid.Of(&value)
	check("a struct", u, ok, "u")
	u, ok = uid.Of(&pointer)
	check("a pointer", u, ok, "u")
	u, ok = uid.Of(&byPointer)
	check("a method of the pointer", u, ok, "u")
	u, ok = uid.Of(&inside)
	check("an interface", u, ok, "u")
	u, ok = uid.Of(&absent)
	check("a type without the method", u, ok, "")
	u, ok = uid.Of(&nothing)
	check("an interface without the method", u, ok, "")
	if n := testing.AllocsPerRun(100, func() { uid.Of(&value) }); n != 0 {
		t.Errorf("%v allocations for a struct, want none", n)
	}
}
