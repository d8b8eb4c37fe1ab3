package print

// maxIndentation is how many bytes of indentation one object is printed with. An object
// of 600 KB whose values are 400 levels deep would take 500 MB; beyond this it is printed
// on one line, which is JSON as well, and YAML.
const maxIndentation = 16 << 20

// maxNodes is how many values an object has that is printed as YAML: the encoder takes
// two kilobytes for each. One that has more is printed on one line.
const maxNodes = 75_000

// maxPaths is how many bytes the paths to all values of two objects take that are
// compared value by value. A long name is in the path to each value within it.
const maxPaths = 16 << 20

// deep says whether v would be printed with more indentation than that.
func deep(v any) bool { return indentation(v, 0, 0) > maxIndentation }

// crowded says whether v has more values than that.
func crowded(v any) bool { return nodes(v, 0) > maxNodes }

// nodes adds to sum how many values v has, and stops where they are too many.
func nodes(v any, sum int) int {
	sum++
	each(v, func(_ int, e any) bool {
		sum = nodes(e, sum)
		return sum <= maxNodes
	})
	return sum
}

// tangled says whether the paths to all values of a and b take more than that.
func tangled(a, b any) bool { return paths(b, 0, paths(a, 0, 0)) > maxPaths }

// paths adds to sum the length of the path to each value in v, whose own has so many
// bytes. It stops where it is too much.
func paths(v any, at, sum int) int {
	sum += at
	each(v, func(name int, e any) bool {
		sum = paths(e, at+name, sum)
		return sum <= maxPaths
	})
	return sum
}

// each calls f with each member or element of v, and how long its name is about, until
// f returns false.
func each(v any, f func(name int, e any) bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if !f(len(k)+1, e) {
				return
			}
		}
	case []any:
		for _, e := range v {
			if !f(len("[100000]"), e) {
				return
			}
		}
	}
}

// indentation adds to sum what v takes at a level, with four spaces for each. It stops
// counting where it is too much.
func indentation(v any, level, sum int) int {
	if sum += 4 * level; sum > maxIndentation {
		return sum
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if sum = indentation(e, level+1, sum); sum > maxIndentation {
				return sum
			}
		}
	case []any:
		for _, e := range v {
			if sum = indentation(e, level+1, sum); sum > maxIndentation {
				return sum
			}
		}
	}
	return sum
}
