// Package uid reads the UID of an object of any type.
package uid

// Of returns the UID of an object, if its type has a method GetUID. It takes a pointer
// because the conversion of a struct to an interface would allocate.
func Of[T any](p *T) (uid string, ok bool) {
	if o, ok := any(p).(interface{ GetUID() string }); ok {
		return o.GetUID(), true
	}
	if o, ok := any(*p).(interface{ GetUID() string }); ok { // T is a pointer or an interface
		return o.GetUID(), true
	}
	return "", false
}
