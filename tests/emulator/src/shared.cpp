/* SPDX-License-Identifier: BSD-3-Clause */
/* Static shared memory: `__shared__` is `static`, and the variables are found in the program's own symbol table. They
 * are the uninitialised statics of functions with internal linkage, but for those with C linkage. (A section
 * attribute would be simpler; GCC 12 drops it within templates.) */
#include "internal.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace emulated {

struct symbol {
  uintptr_t start;
  size_t bytes;
  std::string name;
  int file; /* number of the object file it is local to, in the order of the symbol table; -1: to none */
};
static std::vector<symbol> objects, functions;

static uintptr_t load_address() {
  uintptr_t at = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *out) {
        *static_cast<uintptr_t *>(out) = info->dlpi_addr; /* the program itself comes first */
        return 1;
      },
      &at);
  return at;
}

/* "_ZZ...": a static of a function; not "_ZZ<length><name>E...", whose function has C linkage: that is the host's. */
static bool in_a_function(const char *name) {
  if (std::strncmp(name, "_ZZ", 3) != 0 || std::strncmp(name, "_ZZN8emulated", 13) == 0) return false;
  char *end;
  const long length = std::strtol(name + 3, &end, 10);
  return end == name + 3 || (long)std::strlen(end) < length || end[length] != 'E';
}

static void read_symbols() {
  static bool read;
  if (read) return;
  read = true;
  struct stat info;
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) != 0) {
    tell("cannot read /proc/self/exe");
    std::abort();
  }
  const char *file = static_cast<const char *>(mmap(nullptr, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0));
  const ElfW(Ehdr) *head = reinterpret_cast<const ElfW(Ehdr) *>(file);
  const ElfW(Shdr) *sections = reinterpret_cast<const ElfW(Shdr) *>(file + head->e_shoff);
  const uintptr_t base = load_address();
  bool any = false;
  for (int s = 0; s < head->e_shnum; s++) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    any = true;
    const ElfW(Sym) *symbols = reinterpret_cast<const ElfW(Sym) *>(file + sections[s].sh_offset);
    const char *names = file + sections[sections[s].sh_link].sh_offset;
    int file_number = -1; /* local symbols follow the name of their file */
    for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols; i++) {
      const int type = symbols[i].st_info & 15, section = symbols[i].st_shndx;
      const bool local = ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL;
      const char *name = names + symbols[i].st_name;
      if (type == STT_FILE) file_number++;
      if (type == STT_FUNC)
        functions.push_back({base + symbols[i].st_value, symbols[i].st_size, name, local ? file_number : -1});
      if (type == STT_OBJECT && section > 0 && section < head->e_shnum && sections[section].sh_type == SHT_NOBITS &&
          local && in_a_function(name))
        objects.push_back({base + symbols[i].st_value, symbols[i].st_size, name, file_number});
    }
  }
  munmap(const_cast<char *>(file), (size_t)info.st_size);
  close(fd);
  if (any) return;
  tell("the program has no symbol table: static shared memory cannot be found; link it without -s");
  std::abort();
}

const std::vector<variable> &shared_variables() {
  static std::vector<variable> all;
  read_symbols();
  if (all.empty())
    for (const symbol &s : objects) all.push_back({reinterpret_cast<char *>(s.start), s.bytes, s.name, s.file});
  return all;
}

static const symbol *function_at(const void *function) {
  read_symbols();
  for (const symbol &s : functions)
    if (s.start == reinterpret_cast<uintptr_t>(function)) return &s;
  return nullptr;
}
std::string symbol_of(const void *function) {
  const symbol *s = function_at(function);
  return s ? s->name : "";
}

/* The statics of _ZL6kerneli are named _ZZL6kerneliE...: "_ZZ", the function's name without "_Z", "E", the variable.
 */
static bool belongs(const variable &v, const std::string &function) {
  return function.size() > 2 && v.name.compare(0, 3, "_ZZ") == 0 &&
         v.name.compare(3, function.size() - 2, function, 2, std::string::npos) == 0 &&
         v.name[1 + function.size()] == 'E';
}
/* Those of the kernel's file that no other kernel owns, as far as kernels are known: its own, those of device
 * functions, and, harmlessly, those of kernels that have not been launched yet. */
const std::vector<variable> &shared_of(const void *kernel) {
  struct list {
    std::vector<variable> all;
    size_t kernels; /* that were known when it was made */
  };
  static std::map<const void *, list> known;
  static std::vector<std::string> names; /* of kernels that have been launched */
  list &mine = known[kernel];
  if (mine.kernels == 0) names.push_back(symbol_of(kernel));
  if (mine.kernels == names.size()) return mine.all;
  const std::string name = symbol_of(kernel);
  const symbol *function = function_at(kernel);
  const int file = function ? function->file : -1;
  mine.all.clear();
  for (const variable &v : shared_variables()) {
    if (file >= 0 && v.file != file) continue;
    bool others = false;
    for (const std::string &other : names) others |= other != name && belongs(v, other);
    if (!others) mine.all.push_back(v);
  }
  mine.kernels = names.size();
  return mine.all;
}

size_t static_shared_of(const void *kernel) {
  size_t bytes = 0;
  const std::string name = symbol_of(kernel);
  for (const variable &v : shared_of(kernel))
    if (belongs(v, name)) bytes += v.bytes;
  return bytes;
}

}  // namespace emulated
