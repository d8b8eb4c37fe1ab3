package main

// maxIndentation is how many bytes of indentation one object is printed with. An object
// of 600 KB whose values are 400 levels deep would take 500 MB; beyond this it is printed
// on one line, which is JSON as well, and YAML.
const maxIndentation = 16 << 20

// deep says whether v would be printed with more indentation than that.
func deep(v any) bool { return indentation(v, 0, 0) > maxIndentation }

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
