#!/usr/bin/env bash
# Installs the C library, its headers, its packages for pkg-config and CMake and the licences, or removes them again.
# usage: install.sh install PREFIX DESTDIR VERSION     DESTDIR is put before every path, and may be empty
#        install.sh uninstall PREFIX DESTDIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=$1
prefix=${2%/}
root=$3$prefix
case $2 in
    /*) ;;
    *)
        echo "PREFIX: got $2; allowed: an absolute path" >&2
        exit 2
        ;;
esac

files=(
    include/tidegate.h
    include/tidegate.hpp
    include/tidegate_gate.hpp
    lib/cmake/tidegate/tidegate-config-version.cmake
    lib/cmake/tidegate/tidegate-config.cmake
    lib/libtidegate.a
    lib/libtidegate.so
    lib/libtidegate.so.1
    lib/pkgconfig/tidegate.pc
    share/doc/tidegate/LICENSE-APACHE
    share/doc/tidegate/LICENSE-MIT
)

if [ "$mode" = uninstall ]; then
    for file in "${files[@]}"; do
        rm -f "$root/$file"
    done
    # The folders that are ours alone.
    for folder in "$root/lib/cmake/tidegate" "$root/share/doc/tidegate"; do
        [ ! -d "$folder" ] || rmdir "$folder"
    done
    echo "tidegate is removed from $root"
    exit
fi

install -d "$root/include" "$root/lib/pkgconfig" "$root/lib/cmake/tidegate" "$root/share/doc/tidegate"
install -m 644 include/tidegate.h include/tidegate{,_gate}.hpp "$root/include"
install -m 755 build/lib/libtidegate.so.1 "$root/lib"
ln -sf libtidegate.so.1 "$root/lib/libtidegate.so"
install -m 644 build/lib/libtidegate.a "$root/lib"
install -m 644 scripts/install/tidegate-config.cmake "$root/lib/cmake/tidegate"
# write_versioned NAME FOLDER: a template of scripts/install, with the version filled in.
write_versioned() {
    sed "s|@VERSION@|$version|" "scripts/install/$1.in" > "$root/$2/$1"
    chmod 644 "$root/$2/$1"
}
version=$4
write_versioned tidegate.pc lib/pkgconfig
write_versioned tidegate-config-version.cmake lib/cmake/tidegate
install -m 644 LICENSE-APACHE LICENSE-MIT "$root/share/doc/tidegate"

echo "tidegate $version is installed in $root:"
printf '    %s\n' "${files[@]}"

# Whether the loader's cache is made of the folder, among others. ldconfig is not on every user's PATH.
loader_looks_into() {
    local folder
    while IFS=: read -r folder _; do
        if [[ $folder == "$1" || $folder -ef $1 ]]; then
            return
        fi
    done < <(PATH=$PATH:/usr/sbin:/sbin ldconfig -N -X -v 2> /dev/null)
    return 1
}

if loader_looks_into "$prefix/lib"; then
    echo 'Run ldconfig as root once, so that the loader finds the library. Then'
    echo '    cc example.c $(pkg-config --cflags --libs tidegate)'
else
    echo "The loader does not look into $prefix/lib. Either write the path into each program:"
    echo "    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig"
    echo "    cc example.c \$(pkg-config --cflags --libs tidegate) -Wl,-rpath,$prefix/lib"
    echo 'or name the folder in a file of /etc/ld.so.conf.d and run ldconfig as root.'
fi
echo "CMake finds it by -DCMAKE_PREFIX_PATH=$prefix"
