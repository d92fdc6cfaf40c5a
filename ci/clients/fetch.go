// The Go client of the matrix: what net/http does by itself with the environment that it finds.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"time"
)

// fetch URL TOKEN: asks once, and prints the status line and at most 64 KiB of the answer.
func main() {
	fmt.Println("ran", runtime.Version())
	request, err := http.NewRequest("GET", os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("X-Marker", os.Args[2])
	client := http.Client{Timeout: 4 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(9)
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if response.StatusCode >= 400 {
		fmt.Println("failed:", response.Status, string(body))
		os.Exit(9)
	}
	fmt.Println(response.Status, string(body))
}
