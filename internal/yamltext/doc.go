// Package yamltext writes JSON as YAML in kubectl's layout. It links no YAML library.
package yamltext
