'use strict';

/** The part of a native library's name that tells what it runs on: `linux-x64-gnu`, `darwin-arm64`, `win32-x64-msvc`. */
function findTarget() {
  const { platform, arch } = process;
  if (platform === 'linux') return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`;
  if (platform === 'win32') return `win32-${arch}-msvc`;
  return `${platform}-${arch}`;
}

/** Node reports the glibc that it runs on, and none on musl. */
function isMusl() {
  const { excludeNetwork } = process.report;
  process.report.excludeNetwork = true; // Else the report asks name servers who our peers are.
  try {
    return process.report.getReport().header.glibcVersionRuntime === undefined;
  } finally {
    process.report.excludeNetwork = excludeNetwork;
  }
}

module.exports = { target: findTarget() };
