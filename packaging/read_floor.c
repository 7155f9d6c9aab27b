/*
 * What reading files costs at least: opens, reads and closes every file below a directory, each
 * relative to its open directory, and does nothing else with it. `packaging/bench files` holds the
 * collectors against it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static char page[4096];

static int read_below(int folder)
{
	DIR *list = fdopendir(folder);
	struct dirent *entry;
	int failed = !list;

	while (list && (entry = readdir(list))) {
		if (entry->d_name[0] == '.')
			continue;
		if (entry->d_type == DT_DIR) {
			int below = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY);
			failed |= below < 0 || read_below(below);
		} else {
			int file = openat(folder, entry->d_name, O_RDONLY);
			failed |= file < 0 || read(file, page, sizeof(page)) < 0;
			close(file);
		}
	}
	if (list)
		closedir(list);
	return failed;
}

int main(int count, char **words)
{
	int folder = count == 2 ? open(words[1], O_RDONLY | O_DIRECTORY) : -1;

	if (folder < 0) {
		fputs("usage: read_floor DIRECTORY\n", stderr);
		return 2;
	}
	return read_below(folder);
}
