# HPX: its CMake macros. Sourced by ci/clients/probe. Bash.

hpx() {
  export PKG_CONFIG_PATH=$inst/lib/pkgconfig
  client_project hpx -DHPX_WITH_PARCELPORT_GASNET_CONDUIT=smp "-DGASNET_ROOT=$inst"
  local status=$?
  unset PKG_CONFIG_PATH
  return $status
}
verdict "its CMake macros" hpx
for program in probe probe-whole probe-found; do
  verdict "run $program" job 2 "$inst/bin/gasnetrun_smp" -n 2 "$work/hpx/$program"
  verdict "run $program without a launcher" job 2 env GASNET_PSHM_NODES=2 "$work/hpx/$program"
done
