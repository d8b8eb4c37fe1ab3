// Package operator writes the files of a new operator: listwatch init operator.
package operator
